# What the peers share: leaves, passes, optimisers, compiling.
"""Each case is a generator of (variant, function to time); the fastest variant counts. Nothing is built before
it is asked for. With `settings.compile` cases also yield variants whose names begin with "compiled"."""
from types import SimpleNamespace

import torch

settings = SimpleNamespace(compile=False)


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def forward_backward(function, leaves, shape):
    """One forward and backward pass, of a loss from 1, else from a random cotangent; old gradients are
    dropped, not added to."""
    cotangent = torch.randn(shape) if shape else torch.ones(())

    def run():
        for tensor in leaves:
            tensor.grad = None
        function().backward(cotangent)

    return run


def each(functions):
    """(variant, function) pairs, and the same compiled, if that is asked for."""
    for variant, function in functions.items():
        yield variant, function
    if settings.compile:
        for variant, function in functions.items():
            yield f"compiled {variant}", torch.compile(function)


def adam(parameters, fused):
    """Adam with PyTorch's fused kernel, or None where this version has none for the CPU."""
    if not fused:
        return torch.optim.Adam(parameters, lr=1e-3)
    try:
        return torch.optim.Adam(parameters, lr=1e-3, fused=True)
    except (RuntimeError, TypeError):
        return None


def training_step(model, optimiser, inputs, targets, ignore=-100):
    """Forward, cross-entropy, backward, Adam."""
    flat = targets.flatten()

    def step():
        optimiser.zero_grad(set_to_none=True)
        logits = model(*inputs).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, flat, ignore_index=ignore).backward()
        optimiser.step()

    return step


def training(make_model, words, shapes, ways):
    """Variants of a training step. make_model(**settings) → model; shapes: of its inputs, the last the targets'.
    ways: name → settings of the model. Each with Adam as it comes, and fused."""
    inputs = [torch.randint(words, shape) for shape in shapes]
    targets = torch.randint(words, shapes[-1])
    for way, arguments in ways.items():
        for fused in (False, True):
            model = make_model(**arguments)
            optimiser = adam(model.parameters(), fused)
            if optimiser:
                name = f"{way}, Adam fused" if fused else way
                yield name, training_step(model, optimiser, inputs, targets)
                if fused and settings.compile:
                    yield f"compiled {name}", training_step(torch.compile(model), optimiser, inputs, targets)
