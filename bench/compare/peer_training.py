"""PyTorch's side of training: one step of AdamW on one batch, again and again, in its own process.

Answers the JSON lines of bench/compare/ours.cc, whose only case here is "train".
"""

import contextlib
import sys
import time

import numpy

import peer

NO_DROPOUT = {name: 0.0 for name in ("dropout", "attention_dropout", "activation_dropout",
                                     "resid_pdrop", "embd_pdrop", "attn_pdrop",
                                     "hidden_dropout_prob", "attention_probs_dropout_prob")}


class Case:
    def __init__(self, request):
        import torch
        import transformers

        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(peer.THREADS)
        args = request["args"]
        config = transformers.AutoConfig.from_pretrained(args["folder"])
        config.update({name: 0.0 for name in NO_DROPOUT if hasattr(config, name)})
        kind = getattr(transformers, config.architectures[0])
        model = kind.from_pretrained(args["folder"], config=config, dtype=torch.float32,
                                     attn_implementation="sdpa")
        model.train()
        self.torch, self.half = torch, args["precision"] == "bfloat16"
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-4, weight_decay=0.01, fused=True)
        self.batch = {name: torch.from_numpy(numpy.fromfile(file["path"], dtype=file["dtype"])
                                             .reshape(file["shape"]))
                      for name, file in zip(args["names"], request["inputs"], strict=True)}
        self.labels = self.batch.pop("labels")
        self.model = torch.compile(model) if args["compiled"] else model

    def loss(self):
        logits = self.model(**self.batch).logits
        return self.torch.nn.functional.cross_entropy(logits.flatten(0, -2).float(),
                                                      self.labels.flatten())

    def run(self):
        start = time.perf_counter()
        with (self.torch.autocast("cpu", self.torch.bfloat16) if self.half
              else contextlib.nullcontext()):
            loss = self.loss()
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.last = loss.detach()
        return time.perf_counter() - start

    def write(self, path):
        x = self.last.float().reshape(1).numpy()
        x.tofile(path)
        return {"path": path, "shape": [1], "dtype": "float32"}


if __name__ == "__main__":
    peer.serve("torch", Case)
