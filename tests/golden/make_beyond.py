# Golden cases of sparse weights, of pointing, and of pictures.
import torch
import torch.nn.functional as F

from recorder import Golden


def sparse():
    weights = "max(s - tau, 0) and max(s / 2 - tau, 0)^2"
    golden = Golden("sparse", weights + " with tau such that they sum to 1, by bisection")
    golden.note("gradient", "by the implicit function: tau takes one Newton step whose value is 0")
    for case, power, mask in (
        ("sparsemax", 1, False),
        ("sparsemax_mask", 1, True),
        ("entmax15", 2, False),
        ("entmax15_mask", 2, True),
    ):
        draw = golden.draw(case)
        scores = draw.normal(4, 9, scale=1.5)
        allowed = draw.ids(0, 4, 4, 9) > 0 if mask else torch.ones(4, 9, dtype=torch.bool)

        def run(x, power=power, allowed=allowed):
            s = x["scores"] / power

            def weights(tau):
                return torch.where(allowed, (s - tau).clamp(min=0), 0.0) ** power

            with torch.no_grad():
                top = s.masked_fill(~allowed, -torch.inf).amax(-1, keepdim=True)
                low, high = top - 1, top
                for _ in range(200):
                    middle = (low + high) / 2
                    more = weights(middle).sum(-1, keepdim=True) > 1
                    low, high = torch.where(more, middle, low), torch.where(more, high, middle)
                tau = (low + high) / 2
                slope = (power * weights(tau) ** ((power - 1) / power) * (weights(tau) > 0)).sum(-1, keepdim=True)
            tau = tau + (weights(tau).sum(-1, keepdim=True) - 1) / slope
            return weights(tau)

        golden.record(case, {"scores": scores}, run, {"mask": allowed} if mask else {})
    return golden


def pointing():
    golden = Golden("pointing", "a writer that copies, coverage and its loss, monotonic chances")
    golden.note("copy", "P(w) = p softmax(logits)_w + (1 - p) sum of weights where source = w, p = sigmoid(gate)")
    batch, steps, places, known = 2, 4, 6, 5

    def copied(x, source):
        p = x["gate"].sigmoid()[..., None]
        out = torch.cat([p * x["logits"].softmax(-1), torch.zeros(batch, steps, places)], -1)
        rows = []
        for b in range(batch):
            words = source[b].tolist()
            to = torch.tensor([w if w < known else known + words.index(w) for w in words])
            rows.append(out[b].index_add(-1, to, (1 - p[b]) * x["weights"][b]))
        return torch.stack(rows)

    source = torch.tensor([[1, 7, 3, 7, 9, 1], [8, 8, 0, 2, 11, 4]])
    targets = torch.tensor([[7, 1, 2, 9], [4, 8, -1, 11]])
    for case in ("copy_mixture", "copy_loss"):
        draw = golden.draw(case)
        inputs = {
            "logits": draw.normal(batch, steps, known),
            "weights": draw.normal(batch, steps, places).softmax(-1),
            "gate": draw.normal(batch, steps),
        }

        def run(x, case=case):
            mixture = copied(x, source)
            if case == "copy_mixture":
                return mixture
            losses = []
            for b in range(batch):
                words = source[b].tolist()
                for t in range(steps):
                    word = targets[b, t].item()
                    if word >= 0:
                        losses.append(-mixture[b, t, word if word < known else known + words.index(word)].log())
            return {"loss": torch.stack(losses).mean()}

        golden.record(case, inputs, run, {"source": source, "targets": targets})

    weights = golden.draw("coverage").normal(batch, steps, places).softmax(-1)

    def coverage(x):
        before = torch.cat([torch.zeros(batch, 1, places), x["weights"].cumsum(1)[:, :-1]], 1)
        return {"covered": before, "loss": torch.minimum(x["weights"], before).sum(-1)}

    golden.record("coverage", {"weights": weights}, coverage)

    def monotonic(x):
        stop, here, rows = x["scores"].sigmoid(), F.one_hot(torch.zeros(batch, dtype=torch.int64), places), []
        for t in range(steps):
            arrives, row = torch.zeros(batch), []
            for j in range(places):
                arrives = here[:, j] + (arrives * (1 - stop[:, t, j - 1]) if j > 0 else 0)
                row.append(stop[:, t, j] * arrives)
            here = torch.stack(row, -1)
            rows.append(here)
        return torch.stack(rows, 1)

    golden.record("monotonic", {"scores": golden.draw("monotonic").normal(batch, steps, places)}, monotonic)
    return golden


def convolve(x, weight, size, stride, padding, bias):
    """x (B, H, W, in), weight (out, size * size * in), in the order row, column, channel."""
    kernel = weight.reshape(weight.shape[0], size, size, -1).permute(0, 3, 1, 2)
    return F.conv2d(x.permute(0, 3, 1, 2), kernel, bias, stride, padding).permute(0, 2, 3, 1)


def vision():
    golden = Golden("vision", "pictures (B, H, W, C): conv2d, patches, squeeze and excite, CBAM")
    golden.note("weight", "of a convolution (out, size * size * in): row, column, channel")
    batch, height, width, channels, out = 2, 6, 8, 3, 4
    for case, size, stride, bias in (
        ("convolution", 3, None, True),
        ("convolution_5", 5, None, False),
        ("convolution_1", 1, None, True),
        ("windows", 3, 2, False),
        ("windows_overlap", 2, 1, False),
        ("windows_apart", 2, 3, False),
    ):
        draw = golden.draw(case)
        inputs = {
            "input": draw.normal(batch, height, width, channels),
            "weight": draw.normal(out, size * size * channels, scale=0.3),
            **({"bias": draw.normal(out)} if bias else {}),
        }
        padding = size // 2 if stride is None else 0  # a convolution keeps the picture's size
        golden.record(
            case,
            inputs,
            lambda x, n=size, stride=stride or 1, padding=padding: convolve(
                x["input"], x["weight"], n, stride, padding, x.get("bias")
            ),
            {"size": size, **({"stride": stride} if stride else {})},
        )

    def patches(x):
        parts = x["input"].unfold(1, 2, 2).unfold(2, 2, 2)  # (B, rows, columns, C, row, column)
        return parts.permute(0, 1, 2, 4, 5, 3).flatten(3)

    golden.record("patches", {"input": golden.draw("patches").normal(batch, height, width, channels)}, patches)

    def channel(x, prefix="", squeeze=2):
        def excite(z):
            z = F.linear(z, x[prefix + "first.weight"], x[prefix + "first.bias"]).relu()
            return F.linear(z, x[prefix + "second.weight"], x[prefix + "second.bias"])

        y = x["input"]
        z = excite(y.mean((1, 2)))
        if squeeze == 2:
            z = z + excite(y.amax((1, 2)))
        return z.sigmoid()[:, None, None] * y

    def spatial(y, weight, bias):
        summary = torch.stack([y.mean(-1), y.amax(-1)], -1)
        return convolve(summary, weight, 3, 1, 1, bias).sigmoid() * y

    for case in ("channel_mean", "channel_mean_and_max", "spatial", "channel_spatial"):
        draw, hidden = golden.draw(case), 5
        inputs = {"input": draw.normal(batch, height, width, channels)}
        prefix = "channel." if case == "channel_spatial" else ""
        if case != "spatial":
            inputs[prefix + "first.weight"] = draw.normal(hidden, channels)
            inputs[prefix + "first.bias"] = draw.normal(hidden)
            inputs[prefix + "second.weight"] = draw.normal(channels, hidden)
            inputs[prefix + "second.bias"] = draw.normal(channels)
        place = "spatial.convolution." if case == "channel_spatial" else "convolution."
        if case in ("spatial", "channel_spatial"):
            inputs[place + "weight"] = draw.normal(1, 3 * 3 * 2)
            inputs[place + "bias"] = draw.normal(1)

        def run(x, case=case, prefix=prefix, place=place):
            y = x["input"] if case == "spatial" else channel(x, prefix, 1 if case == "channel_mean" else 2)
            if case in ("spatial", "channel_spatial"):
                y = spatial(y, x[place + "weight"], x[place + "bias"])
            return y

        golden.record(case, inputs, run)
    return golden


SUBJECTS = (sparse, pointing, vision)
