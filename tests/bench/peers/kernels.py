# Peers of kernels.cpp: element-wise functions, fused rows, Adam, one tiny operation.
"""What is timed ("1M" is 2^20; all values standard normal; f+b: forward and backward with a given cotangent,
old gradients dropped first):
    tanh_1M, exp_1M, sigmoid_1M, gelu_tanh_1M    forward
    softmax_4096x512, layer_norm_4096x256        f+b over the last axis; layer norm with weight and bias
    cross_entropy_4096x10000, _4096x64           f+b, mean over the rows
    adam_26M, adam_0.79M                         one step over ADAM_SHAPES
    tiny_op                                      y = y * x with four numbers, a hundred times, f+b; of one"""
import torch
from common import each, forward_backward, leaf, settings

F = torch.nn.functional
ADAM_SHAPES = {
    "adam_26M": [(512, 512)] * 30 + [(2048, 512)] * 8 + [(10000, 512)] * 2 + [(512,)] * 20,
    "adam_0.79M": [(128, 128)] * 16 + [(512, 128)] * 8 + [(128,)] * 26,
}
FUNCTIONS = {
    "tanh_1M": torch.tanh,
    "exp_1M": torch.exp,
    "sigmoid_1M": torch.sigmoid,
    "gelu_tanh_1M": lambda x: F.gelu(x, approximate="tanh"),
}
CHAIN = 100


def elementwise(function):
    def make():
        x = torch.randn(1 << 20)

        def timed(call):
            def run():
                with torch.no_grad():
                    call(x)

            return run

        for variant, call in each({"eager": function}):
            yield variant, timed(call)

    return make


def softmax():
    x = leaf(4096, 512)
    for variant, call in each({"eager": lambda x: x.softmax(-1)}):
        yield variant, forward_backward(lambda call=call: call(x), [x], (4096, 512))


def layer_norm():
    x, weight, bias = leaf(4096, 256), leaf(256), leaf(256)
    for variant, call in each({"eager": lambda x, w, b: F.layer_norm(x, (256,), w, b)}):
        run = lambda call=call: call(x, weight, bias)
        yield variant, forward_backward(run, [x, weight, bias], (4096, 256))


def cross_entropy(classes):
    def make():
        logits, targets = leaf(4096, classes), torch.randint(classes, (4096,))
        for variant, call in each({"eager": F.cross_entropy}):
            yield variant, forward_backward(lambda call=call: call(logits, targets), [logits], ())

    return make


def adam(name):
    def make():
        weights = [leaf(*shape) for shape in ADAM_SHAPES[name]]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        for variant in ("default", "fused", "foreach"):
            arguments = {} if variant == "default" else {variant: True}
            try:
                optimiser = torch.optim.Adam(weights, lr=1e-3, **arguments)
                optimiser.step()
            except (RuntimeError, TypeError):  # this PyTorch has no such kernel for the CPU
                continue
            yield variant, optimiser.step
        if settings.compile and name != "adam_26M":
            yield "compiled default", torch.compile(torch.optim.Adam(weights, lr=1e-3).step)

    return make


def tiny_op():
    x = leaf(4)

    def run():
        x.grad = None
        y = x
        for _ in range(CHAIN):
            y = y * x
        y.sum().backward()

    yield "eager", run


CASES = {
    **{name: elementwise(function) for name, function in FUNCTIONS.items()},
    "softmax_4096x512": softmax,
    "layer_norm_4096x256": layer_norm,
    "cross_entropy_4096x10000": cross_entropy(10000),
    "cross_entropy_4096x64": cross_entropy(64),
    "adam_26M": adam("adam_26M"),
    "adam_0.79M": adam("adam_0.79M"),
    "tiny_op": tiny_op,
}
# Cases of which one run does the thing so many times.
PER = {"tiny_op": CHAIN}


def products(shapes):
    """A function to time for each matrix product of the list that measure/products.py sends."""

    def operand(rows, columns, transposed, batch):
        stored = (columns, rows) if transposed else (rows, columns)
        values = torch.randn(batch, *stored) if batch > 1 else torch.randn(*stored)
        return values.transpose(-2, -1) if transposed else values

    for shape in shapes:
        a = operand(shape["m"], shape["k"], shape["a_transposed"], shape["batch"])
        b = operand(shape["k"], shape["n"], shape["b_transposed"], shape["batch"])
        out = torch.empty(*a.shape[:-1], shape["n"])
        product = torch.bmm if shape["batch"] > 1 else torch.mm
        yield lambda a=a, b=b, out=out, product=product: product(a, b, out=out)
