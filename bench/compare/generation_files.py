"""Models that generate, with random weights: made once, in the form that each side reads.

The numbers are rounded to bfloat16, so that float32 and bfloat16 are the same model everywhere.
"""

import shutil
import subprocess
import sys

LLAMA_TYPE = {"float32": "F32", "bfloat16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}


def config_of(name):
    """A transformers model's class and its configuration."""
    import transformers

    if name == "gpt2":
        return transformers.GPT2LMHeadModel, transformers.GPT2Config()
    if name == "llama-1b":
        return transformers.LlamaForCausalLM, transformers.LlamaConfig(
            vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
            num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=2048,
            tie_word_embeddings=False)
    words = 58101  # the last is the padding, which the decoder begins with
    return transformers.MarianMTModel, transformers.MarianConfig(
        vocab_size=words, decoder_vocab_size=words, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, max_position_embeddings=512, activation_function="swish",
        scale_embedding=True, pad_token_id=words - 1, eos_token_id=0, bos_token_id=None,
        decoder_start_token_id=words - 1, bad_words_ids=[[words - 1]])


class Files:
    """Everything lies below build/compare-models, and is made when it is first asked for."""

    def __init__(self, root):
        self.root = root / "build/compare-models"
        self.program = root / "build/release/bin/glassformer"

    def ours(self, name, dtype):
        """A folder, and the type to compute in: codes are multiplied from float32."""
        folder = self.made(name, lambda path: make_folder(path, name))
        if dtype not in ("int8", "int4"):
            return folder, dtype
        return self.made(f"{name}-{dtype}", lambda path: subprocess.run(
            [self.program, "quantize", folder, path, "--type", dtype], check=True,
            stdout=sys.stderr)), "float32"

    def gguf(self, name, dtype):
        kind = LLAMA_TYPE[dtype]
        if kind != "F32":
            whole = self.gguf(name, "float32")
            return self.made(f"{name}-{kind}.gguf", lambda path: quantise_gguf(whole, path, kind))
        folder, _ = self.ours(name, "float32")
        return self.made(f"{name}-F32.gguf", lambda path: make_gguf(folder, path, name))

    def ctranslate2(self, name, dtype):
        folder, _ = self.ours(name, "float32")
        return self.made(f"{name}-ct2-{dtype}", lambda path: convert(folder, path, dtype))

    def step_weights(self, name):
        """How many numbers of matrices a token is multiplied with (all but embeddings that are not
        the output layer as well), and how many of them are the output layer's."""
        from safetensors import safe_open

        folder, _ = self.ours(name, "float32")
        with safe_open(folder / "model.safetensors", "pt") as file:
            shapes = {key: file.get_slice(key).get_shape() for key in file.keys()}
        tables, outputs = ["wpe.", "embed_tokens."], ["wte.", "lm_head."]
        sizes = {key: shape[0] * shape[1] for key, shape in shapes.items()
                 if len(shape) == 2 and not any(table in key for table in tables)}
        return sum(sizes.values()), sum(size for key, size in sizes.items()
                                        if any(output in key for output in outputs))

    def made(self, name, make):
        path = self.root / name
        if not path.exists():
            print(f"making {path} (once)", file=sys.stderr)
            self.root.mkdir(parents=True, exist_ok=True)
            unfinished = self.root / f"unfinished-{name}"
            if unfinished.is_dir():
                shutil.rmtree(unfinished)
            make(unfinished)
            unfinished.rename(path)
        return path


def make_folder(path, name):
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    kind, config = config_of(name)
    torch.manual_seed(2017)
    model = kind(config).eval().to(torch.bfloat16)
    model.save_pretrained(path, max_shard_size="100GB")


def make_gguf(folder, path, name):
    import gguf
    from safetensors import safe_open

    _, config = config_of(name)
    writer = gguf.GGUFWriter(str(path), "gpt2" if name == "gpt2" else "llama", use_temp_file=False)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(4 * config.n_embd if name == "gpt2" else config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")  # ids in, logits out
    if name == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    with safe_open(folder / "model.safetensors", "pt") as file:
        for key in file.keys():
            ours = gguf_name(key)
            if ours:
                writer.add_tensor(ours, gguf_numbers(ours, file.get_tensor(key), config))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    writer.close()


def gguf_name(key):
    """None for what is not stored."""
    parts = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "h": "blk",
             "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
             "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
             "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
             "layers": "blk", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
             "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    key, _, kind = key.removeprefix("transformer.").removeprefix("model.").rpartition(".")
    head, _, rest = key.partition(".")
    number, _, part = rest.partition(".")
    if kind not in ("weight", "bias"):
        return None
    return ".".join([parts[head], number, parts[part], kind] if part else [parts[key], kind])


def gguf_numbers(name, tensor, config):
    x = tensor.float()
    if config.model_type == "gpt2" and x.dim() == 2 and name.startswith("blk."):
        x = x.t()  # stored the other way round
    if ".attn_q.weight" in name or ".attn_k.weight" in name:  # llama.cpp rotates neighbours
        heads = config.num_attention_heads if "_q" in name else config.num_key_value_heads
        x = x.reshape(heads, 2, -1, x.shape[1]).transpose(1, 2).reshape(x.shape)
    return x.contiguous().numpy()


def quantise_gguf(whole, path, kind):
    import llama_cpp

    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    params.pure = True  # every matrix in this type, as ours are
    params.nthread = 2
    if llama_cpp.llama_model_quantize(str(whole).encode(), str(path).encode(), params) != 0:
        raise SystemExit(f"error: llama.cpp could not write {path}")


def convert(folder, path, dtype):
    import transformers
    from ctranslate2.converters.transformers import MarianMTLoader

    model = transformers.MarianMTModel.from_pretrained(folder, dtype="float32")
    words = model.config.vocab_size - 1  # the padding stays behind
    loader = MarianMTLoader()
    spec = loader.get_model_spec(model)
    spec.config.eos_token = spec.config.decoder_start_token = "</s>"
    spec.config.unk_token = "<unk>"
    loader.set_vocabulary(spec, ["</s>", "<unk>", *map(str, range(2, words))])
    spec.validate()
    spec.optimize(quantization=None if dtype == "float32" else dtype)
    path.mkdir()
    spec.save(str(path))
