"""A peer's side of the whole models: PyTorch or ONNX Runtime, in a process of its own.

Answers the JSON lines of bench/compare/ours.cc, whose only case here is "model".
"""

import json
import os
import sys
import time

import numpy

THREADS = int(os.environ["OMP_NUM_THREADS"])
RAW = {"bfloat16": "int16"}  # what numpy holds a type in that it has not


# Each gives three functions: the model's run, and how its input and its result become theirs and
# numpy's.
def torch_model(folder, dtype, input):
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(THREADS)
    kind = getattr(torch, dtype)
    model = transformers.AutoModel.from_pretrained(folder, dtype=kind, attn_implementation="sdpa")
    model.eval()

    def run(x):
        with torch.no_grad():
            return model(**{input: x}).last_hidden_state

    def give(x, dtype):
        return torch.from_numpy(x).view(getattr(torch, dtype))

    def take(x):
        return (x.view(torch.int16) if x.dtype == torch.bfloat16 else x).numpy()

    return run, give, take


def onnxruntime_model(folder, dtype, input):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options,
                                           providers=["CPUExecutionProvider"])

    return lambda x: session.run(None, {input: x})[0], lambda x, dtype: x, lambda x: x


class Case:
    def __init__(self, open_model, request):
        self.dtype = request["args"]["dtype"]
        self.model, give, self.take = open_model(**request["args"])
        file, = request["inputs"]
        raw = numpy.fromfile(file["path"], dtype=RAW.get(file["dtype"], file["dtype"]))
        self.input = give(raw.reshape(file["shape"]), file["dtype"])

    def run(self):
        start = time.perf_counter()
        self.output = self.model(self.input)
        return time.perf_counter() - start

    def write(self, path):
        x = self.take(self.output)
        x.tofile(path)
        return {"path": path, "shape": list(x.shape), "dtype": self.dtype}


def serve(name, make_case):
    """Answers requests about the case that make_case(request) gives, until there are no more."""
    current = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "case" in request:
                current = make_case(request)
            reply = {"seconds": [current.run() for _ in range(request["repeats"])],
                     "peak_bytes": 0, "outputs": []}
            if "outputs" in request:
                reply["outputs"] = [current.write(f"{request['outputs']}0.bin")]
        except Exception as error:  # what goes wrong is an answer
            reply = {"error": f"{name}: {error}"}
        print(json.dumps(reply), flush=True)


def main():
    open_model = {"torch": torch_model, "onnxruntime": onnxruntime_model}[sys.argv[1]]
    serve(sys.argv[1], lambda request: Case(open_model, request))


if __name__ == "__main__":
    main()
