"""A peer's side of generation: llama.cpp or CTranslate2, in a process of its own.

Answers the JSON lines of bench/compare/ours.cc, whose cases here are "decode" and "translate".
"""

import sys
import time

import numpy

import peer


class LlamaCpp:
    """A prompt, or steps after it, through llama.cpp's own functions."""

    def __init__(self, args, prompt, steps=()):
        import llama_cpp

        self.api, self.prompt, self.steps = llama_cpp, prompt, steps
        log = llama_cpp.llama_log_callback(lambda *_: None)
        self.log = log  # kept: the library calls it
        llama_cpp.llama_log_set(log, None)
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = args["repacked"]
        model = llama_cpp.llama_model_load_from_file(args["file"].encode(), params)
        if not model:
            raise RuntimeError(f"{args['file']} could not be opened")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = len(prompt) + len(steps)
        params.n_batch = params.n_ubatch = len(prompt)
        params.n_threads = params.n_threads_batch = peer.THREADS
        if args["dtype"] == "float32":  # otherwise float16, its default
            params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
            # Its fused attention rounds values to float16, whatever they are kept in.
            params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = llama_cpp.llama_init_from_model(model, params)
        if not self.context:
            raise RuntimeError("llama.cpp could not make a context")
        self.words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        if len(steps):
            self.advance(prompt)

    def advance(self, ids):
        tokens = (self.api.llama_token * len(ids))(*ids)
        if self.api.llama_decode(self.context, self.api.llama_batch_get_one(tokens, len(ids))) != 0:
            raise RuntimeError("llama_decode failed")
        return self.api.llama_get_logits_ith(self.context, -1)

    def run(self):
        kept = len(self.prompt) if len(self.steps) else 0
        self.api.llama_memory_seq_rm(self.api.llama_get_memory(self.context), 0, kept, -1)
        start = time.perf_counter()
        for ids in [[id] for id in self.steps] if kept else [self.prompt]:
            self.logits = self.advance(ids)
        return time.perf_counter() - start

    def result(self):
        return numpy.ctypeslib.as_array(self.logits, (self.words,)).copy()


class CTranslate2:
    def __init__(self, args, ids, lengths):
        import ctranslate2

        self.translator = ctranslate2.Translator(
            args["file"], compute_type=args["dtype"], inter_threads=1, intra_threads=peer.THREADS)
        words = iter(ids)
        self.names = {0: "</s>", 1: "<unk>"}
        self.sentences = [[self.names.get(id, str(id)) for _, id in zip(range(count), words)]
                          for count in lengths]
        self.options = {"beam_size": args["beams"], "min_decoding_length": args["length"],
                        "max_decoding_length": args["length"]}

    def run(self):
        start = time.perf_counter()
        self.results = self.translator.translate_batch(self.sentences, **self.options)
        return time.perf_counter() - start

    def result(self):
        numbers = {name: id for id, name in self.names.items()}
        return numpy.array([[numbers[name] if name in numbers else int(name)
                             for name in one.hypotheses[0]] for one in self.results])


class Case:
    def __init__(self, request):
        kind = {"decode": LlamaCpp, "translate": CTranslate2}[request["case"]]
        inputs = [numpy.fromfile(file["path"], dtype=file["dtype"]).tolist()
                  for file in request["inputs"]]
        self.work = kind(request["args"], *inputs)
        self.run = self.work.run

    def write(self, path):
        x = self.work.result()
        x.tofile(path)
        return {"path": path, "shape": list(x.shape), "dtype": str(x.dtype)}


if __name__ == "__main__":
    peer.serve(sys.argv[1], Case)
