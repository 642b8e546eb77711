# Golden cases of single ops and the simple layers: PyTorch's own functions, called on small f64 tensors.
import torch
import torch.nn.functional as F

from recorder import Golden


def linear():
    golden = Golden("linear", "y = x W^T + b; weight (out, in)")
    for case, shape, outs, bias in (
        ("bias", (3, 5), 4, True),
        ("no_bias", (3, 5), 4, False),
        ("three_axes", (2, 3, 17), 9, True),
    ):
        draw = golden.draw(case)
        inputs = {"input": draw.normal(*shape), "weight": draw.normal(outs, shape[-1])}
        if bias:
            inputs["bias"] = draw.normal(outs)
        golden.record(case, inputs, lambda x: F.linear(x["input"], x["weight"], x.get("bias")))
    return golden


def embedding():
    golden = Golden("embedding", "output[...] = weight[ids[...]]; weight (vocabulary, width)")
    for case, ids, width in (
        ("repeated", [[2, 0, 2, 6], [5, 2, 6, 1]], 5),
        ("one_axis", [3, 3, 0, 6, 3], 9),
    ):
        draw, ids = golden.draw(case), torch.tensor(ids)
        inputs = {"weight": draw.normal(7, width)}
        golden.record(case, inputs, lambda x: F.embedding(ids, x["weight"]), {"ids": ids})
    return golden


def layer_norm():
    golden = Golden("layer_norm", "over the last axis, variance divided by its length; eps inside the root")
    for case, shape, eps, scale in (
        ("two_axes", (4, 7), 1e-5, 1.0),
        ("three_axes", (2, 3, 33), 1e-5, 3.0),
        ("eps_matters", (5, 6), 1e-2, 0.1),
    ):
        draw, width = golden.draw(case), shape[-1]
        inputs = {
            "input": draw.normal(*shape, scale=scale) + 2,
            "weight": draw.normal(width),
            "bias": draw.normal(width),
        }
        golden.record(
            case,
            inputs,
            lambda x: F.layer_norm(x["input"], (width,), x["weight"], x["bias"], eps),
            {"eps": eps},
        )
    return golden


def masked_softmax(scores, mask, axis=-1):
    """Softmax over the pairs that may attend; a row with none gives 0 and passes gradient 0."""
    lowest = torch.finfo(scores.dtype).min
    peak = scores.masked_fill(~mask, lowest).amax(axis, keepdim=True).detach()
    # The masked exponents are 0 before exp, so that no infinity meets a zero in the derivative.
    raised = torch.where(mask, scores - peak, torch.zeros_like(scores)).exp() * mask
    total = raised.sum(axis, keepdim=True)
    return raised / torch.where(total > 0, total, torch.ones_like(total))


def softmax():
    golden = Golden("softmax", "softmax, log-softmax and masked softmax; mask 1 = may attend")
    golden.note("masked", "a row with nothing to attend to: output 0, gradient 0")
    functions = {"softmax": F.softmax, "log_softmax": F.log_softmax}
    for name, function in functions.items():
        for case, shape, axis, scale in (
            ("last_axis", (4, 7), -1, 2.0),
            ("first_axis", (5, 3), 0, 2.0),
            ("middle_axis", (2, 19, 3), 1, 2.0),
            ("large", (4, 6), -1, 300.0),
        ):
            full = f"{name}/{case}"
            x = golden.draw(full).normal(*shape, scale=scale)
            if case == "large":  # two close rivals a row, else every gradient would be 0
                x[:, 0] = x.amax(1) + 500
                x[:, 3] = x[:, 0] - torch.linspace(0.1, 2, 4, dtype=x.dtype)
            golden.record(full, {"input": x}, lambda v: function(v["input"], axis), {"axis": axis})

    draw = golden.draw("masked_softmax/arbitrary")
    mask = draw.ids(0, 3, 3, 4, 9) > 0
    mask[0, 1] = False
    mask[2, 3] = False
    mask[1, 2] = torch.arange(9) == 4
    x = draw.normal(3, 4, 9, scale=2)
    case = "masked_softmax/arbitrary"
    golden.record(case, {"input": x}, lambda v: masked_softmax(v["input"], mask), {"mask": mask})
    full_rows = mask.any(-1)
    expected = F.softmax(x.masked_fill(~mask, -torch.inf), -1)
    torch.testing.assert_close(masked_softmax(x, mask)[full_rows], expected[full_rows], rtol=1e-13, atol=0)

    # Lengths {{1,3},{2,4}}: rows with exactly 1, 3, 2, 4 non-zeros.
    case, lengths = "masked_softmax/lengths", torch.tensor([[1, 3], [2, 4]])
    keep = torch.arange(4) < lengths[:, :, None]
    inputs = {"input": golden.draw(case).normal(2, 2, 4)}
    constants = {"lengths": lengths, "mask": keep}
    golden.record(case, inputs, lambda v: masked_softmax(v["input"], keep), constants)
    return golden


def gelu():
    golden = Golden("gelu", "erf: x Phi(x); tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))")
    for case, form in (("erf", "none"), ("tanh", "tanh")):
        x = torch.cat([torch.linspace(-6, 6, 25, dtype=torch.float64), golden.draw(case).normal(12)])
        golden.record(case, {"input": x}, lambda v: F.gelu(v["input"], approximate=form))
    return golden


def cross_entropy():
    golden = Golden("cross_entropy", "logits (rows, classes) or (batch, time, classes); targets: class ids")
    golden.note("reduction", "mean over the targets not ignored; none*: one loss a row, 0 if ignored")
    golden.note("smoothing", "(1 - s) * loss(target) + s * mean over all classes of loss(class)")
    for case, shape, smoothing, ignore, reduction in (
        ("mean", (6, 11), 0.0, None, "mean"),
        ("smoothing", (6, 11), 0.1, None, "mean"),
        ("ignore", (6, 11), 0.0, -100, "mean"),
        ("smoothing_ignore", (6, 11), 0.1, 0, "mean"),
        ("none", (5, 19), 0.0, None, "none"),
        ("none_smoothing_ignore", (6, 11), 0.1, 0, "none"),
        ("sequence_smoothing_ignore", (2, 4, 7), 0.1, 0, "mean"),
    ):
        draw = golden.draw(case)
        logits, targets = draw.normal(*shape, scale=3), draw.ids(1, shape[-1], *shape[:-1])
        constants = {"targets": targets, "smoothing": smoothing}
        if ignore is not None:
            targets.view(-1)[1::3] = ignore
            constants["ignore_index"] = ignore

        def loss(x):
            rows = x["logits"].reshape(-1, shape[-1])
            settings = {"label_smoothing": smoothing, "reduction": reduction}
            if ignore is not None:
                settings["ignore_index"] = ignore
            return F.cross_entropy(rows, targets.reshape(-1), **settings)

        golden.record(case, {"logits": logits}, loss, constants)
    return golden


def ops():
    golden = Golden("ops", "products, reductions and broadcasting")
    golden.note("ties", "max_ties, min_ties: amax and amin share the gradient evenly among equal extremes")
    golden.note("variance", "var_population divides by n, var_sample by n - 1")

    def two(case, a, b, function):
        draw = golden.draw(case)
        golden.record(case, {"a": draw.normal(*a), "b": draw.normal(*b)}, lambda x: function(x["a"], x["b"]))

    two("matmul", (3, 5), (5, 4), torch.matmul)
    two("matmul_tails", (13, 17), (17, 19), torch.matmul)
    two("bmm", (3, 2, 5), (3, 5, 4), torch.bmm)
    two("matmul_one_batch", (4, 2, 5), (5, 3), torch.matmul)
    two("matmul_broadcast_batch", (2, 1, 3, 4), (5, 4, 2), torch.matmul)
    two("matmul_transposed", (2, 3, 5), (2, 4, 5), lambda a, b: a @ b.transpose(-1, -2))
    two("mul_broadcast", (2, 1, 4), (3, 1), torch.mul)
    two("div_broadcast", (4,), (2, 3, 1), lambda a, b: a / (b + torch.sign(b)))

    def one(case, shape, function, scale=1.0, **settings):
        x = golden.draw(case).normal(*shape, scale=scale)
        golden.record(case, {"input": x}, lambda v: function(v["input"]), settings)

    one("sum_axes", (2, 3, 4), lambda x: x.sum((0, 2)), axes=[0, 2])
    one("mean_axes", (2, 3, 4), lambda x: x.mean((0, 2)), axes=[0, 2])
    one("logsumexp", (3, 7), lambda x: x.logsumexp(1), axis=1)
    one("logsumexp_axes", (2, 3, 5), lambda x: x.logsumexp((0, 2)), axes=[0, 2])
    one("logsumexp_large", (3, 4), lambda x: (x + 900).logsumexp(1), axis=1, shift=900)
    one("var_population", (4, 6), lambda x: x.var(1, correction=0), axis=1)
    one("var_sample", (4, 6), lambda x: x.var(1, correction=1), axis=1)
    one("cumsum", (3, 4, 5), lambda x: x.cumsum(1), axis=1)
    for name in ("max", "min"):
        function = getattr(torch, f"a{name}")
        one(name, (4, 5), lambda x: function(x, 1), axis=1)
        tied = torch.tensor([[1.0, 2, 2, 0, 0], [3, 3, 3, 1, 1], [5, -1, 4, -1, 5]], dtype=torch.float64)
        golden.record(f"{name}_ties", {"input": tied}, lambda v: function(v["input"], 1), {"axis": 1})
    return golden


SUBJECTS = (linear, embedding, layer_norm, softmax, gelu, cross_entropy, ops)
