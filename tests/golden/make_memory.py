# Golden cases of attention as a memory: linear attention word by word, the LSTM that attends to its past, where a
# head stands in a memory.
import torch
import torch.nn.functional as F

from recorder import Golden


def recurrence(x, delta):
    """S <- alpha S + k u^T, y = S^T q; what is read at each word, and the last S."""
    state, reads = x.get("state", 0), []
    if isinstance(state, int):
        state = torch.zeros(*x["q"].shape[:-2], x["q"].shape[-1], x["v"].shape[-1])
    for t in range(x["q"].shape[-2]):
        k, written = x["k"][..., t, :], x["v"][..., t, :]
        if "log_keep" in x:
            state = state * x["log_keep"][..., t, None, None].exp()
        if delta:
            written = written - torch.einsum("...d,...de->...e", k, state)
        if "strength" in x:
            written = written * x["strength"][..., t, None]
        state = state + k[..., :, None] * written[..., None, :]
        reads.append(torch.einsum("...d,...de->...e", x["q"][..., t, :], state))
    return {"read": torch.stack(reads, -2), "last": state}


def linear_attend():
    golden = Golden("linear_attend", "S <- alpha S + k u^T, y = S^T q, word by word; u = beta v, or beta (v - S^T k)")
    golden.note("log_keep", "ln alpha; read: y of each word; last: S after the last one")
    for case, delta, more, sizes in (
        ("sum", False, (), (2, 3, 9, 4, 5)),  # batch, heads, words, d, e
        ("gates", False, ("log_keep",), (2, 3, 9, 4, 5)),
        ("delta", True, ("strength",), (2, 3, 9, 4, 5)),
        ("all", True, ("log_keep", "strength", "state"), (2, 2, 9, 4, 5)),
        ("gates_long", False, ("log_keep", "strength", "state"), (1, 1, 133, 3, 2)),
        ("delta_long", True, ("log_keep", "strength", "state"), (1, 1, 133, 3, 2)),
    ):
        batch, heads, words, d, e = sizes
        draw = golden.draw(case)
        inputs = {name: draw.normal(batch, heads, words, width) for name, width in (("q", d), ("k", d), ("v", e))}
        inputs["k"] = F.normalize(inputs["k"], dim=-1)
        if "log_keep" in more:
            inputs["log_keep"] = F.logsigmoid(draw.normal(batch, heads, words) + 2)
        if "strength" in more:
            inputs["strength"] = torch.sigmoid(draw.normal(batch, heads, words))
        if "state" in more:
            inputs["state"] = draw.normal(batch, heads, d, e)
        golden.record(case, inputs, lambda x, delta=delta: recurrence(x, delta), {"delta": int(delta)})
    return golden


def linear_attention():
    golden = Golden("linear_attention", "a layer of linear attention: heads, features, recurrence, output")
    features = "positive: elu + 1, and y is divided by q . sum of k, plus 1e-6"
    golden.note("features", features + "; unit: x / sqrt(x . x + 1e-12)")
    for case, positive, gate, delta in (
        ("positive", True, False, False),
        ("positive_gate", True, True, False),
        ("unit", False, False, False),
        ("delta", False, False, True),
        ("delta_gate", False, True, True),
    ):
        batch, words, width, heads = 2, 7, 6, 2
        draw = golden.draw(case)
        inputs = {"input": draw.normal(batch, words, width)}
        for name in ("query", "key", "value", "output"):
            inputs[f"{name}.weight"] = draw.normal(width, width, scale=width**-0.5)
            inputs[f"{name}.bias"] = draw.normal(width, scale=0.3)
        for name in ("gate",) * gate + ("strength",) * delta:
            inputs[f"{name}_weight"] = draw.normal(heads, width, scale=width**-0.5)
            inputs[f"{name}_bias"] = draw.normal(heads) + 2

        def run(x, positive=positive, gate=gate, delta=delta):
            def projected(name):
                y = F.linear(x["input"], x[f"{name}.weight"], x[f"{name}.bias"])
                return y.unflatten(-1, (heads, -1)).transpose(1, 2)

            def features(y):
                return F.elu(y) + 1 if positive else y / (y.square().sum(-1, keepdim=True) + 1e-12).sqrt()

            def by_head(name):
                return F.linear(x["input"], x[f"{name}_weight"], x[f"{name}_bias"]).transpose(1, 2)

            parts = {"q": features(projected("query")), "k": features(projected("key")), "v": projected("value")}
            if gate:
                parts["log_keep"] = F.logsigmoid(by_head("gate"))
            if delta:
                parts["strength"] = torch.sigmoid(by_head("strength"))
            read = recurrence(parts, delta)["read"]
            if positive:
                weights = torch.ones_like(read[..., :1])
                read = read / (recurrence({**parts, "v": weights}, delta)["read"] + 1e-6)
            return F.linear(read.transpose(1, 2).flatten(2), x["output.weight"], x["output.bias"])

        settings = {"heads": heads, "positive": int(positive), "gate": int(gate), "delta": int(delta)}
        golden.record(case, inputs, run, settings)
    return golden


def lstmn():
    score = "a_i = v . tanh(from_past h_i + from_input x + from_blend h~)"
    golden = Golden("lstmn", score + "; LSTM of the blends of h and c")
    for case, batch, words in (("plain", 2, 5), ("one_word", 3, 1)):
        width, hidden, units = 3, 4, 6
        draw = golden.draw(case)
        inputs = {
            "input": draw.normal(batch, words, width),
            "cell.weight_ih": draw.normal(4 * hidden, width, scale=width**-0.5),
            "cell.weight_hh": draw.normal(4 * hidden, hidden, scale=hidden**-0.5),
            "cell.bias_ih": draw.normal(4 * hidden, scale=0.3),
            "cell.bias_hh": draw.normal(4 * hidden, scale=0.3),
            "from_input.weight": draw.normal(units, width),
            "from_input.bias": draw.normal(units),
            "from_past.weight": draw.normal(units, hidden),
            "from_blend.weight": draw.normal(units, hidden),
            "v": draw.normal(units),
        }
        # What no word takes part in has no gradient: there is one word, and nothing behind it.
        unused = [name for name in inputs if name.startswith("from_") or name in ("v", "cell.weight_hh")]
        constants = {name: inputs.pop(name) for name in unused} if words == 1 else {}

        def run(leaves, constants=constants):
            x = {**leaves, **constants}
            h, c, states = [], [], []
            blend = torch.zeros(batch, hidden)
            cell_in = torch.zeros(batch, hidden)
            for t in range(words):
                now = x["input"][:, t]
                if h:
                    asked = F.linear(now, x["from_input.weight"], x["from_input.bias"])
                    asked = asked + blend @ x["from_blend.weight"].T
                    past = torch.stack(h, 1)
                    scores = torch.tanh(past @ x["from_past.weight"].T + asked[:, None]) @ x["v"]
                    weights = scores.softmax(-1)[:, None]
                    blend = (weights @ past)[:, 0]
                    cell_in = (weights @ torch.stack(c, 1))[:, 0]
                gates = F.linear(now, x["cell.weight_ih"], x["cell.bias_ih"])
                gates = gates + F.linear(blend, x["cell.weight_hh"], x["cell.bias_hh"])
                i, f, g, o = gates.chunk(4, -1)
                c.append(f.sigmoid() * cell_in + i.sigmoid() * g.tanh())
                h.append(o.sigmoid() * c[-1].tanh())
                states.append(h[-1])
            return torch.stack(states, 1)

        golden.record(case, inputs, run, constants)
    return golden


def addressing():
    golden = Golden("addressing", "a neural Turing machine's heads: content, gate, shift, sharpness; erase and add")
    content = "w: softmax of beta cos(k, M); g w + (1 - g) before"
    golden.note("weights", content + "; sum_j s_j w_{n-j}; w^gamma / sum w^gamma")
    below = "1e-8 is added to the squares of a vector below its root"
    golden.note("constants", below + ", and to weights before the power")
    for case, heads, shifts in (("one_head", 1, 3), ("two_heads", 2, 5)):
        batch, slots, width = 2, 7, 4
        draw = golden.draw(case)
        inputs = {
            "memory": draw.normal(batch, slots, width),
            "before": draw.normal(batch, heads, slots).softmax(-1),
            "key": draw.normal(batch, heads, width),
            "strength": draw.normal(batch, heads, 1).exp(),
            "gate": draw.normal(batch, heads, 1).sigmoid(),
            "shift": draw.normal(batch, heads, shifts).softmax(-1),
            "sharpness": 1 + draw.normal(batch, heads, 1).exp(),
            "erase": draw.normal(batch, heads, width).sigmoid(),
            "added": draw.normal(batch, heads, width),
        }

        def run(x):
            def unit(y):
                return y / (y.square().sum(-1, keepdim=True) + 1e-8).sqrt()

            w = (x["strength"] * torch.einsum("bhw,bnw->bhn", unit(x["key"]), unit(x["memory"]))).softmax(-1)
            w = x["gate"] * w + (1 - x["gate"]) * x["before"]
            reach = x["shift"].shape[-1] // 2
            w = sum(x["shift"][..., j : j + 1] * w.roll(j - reach, -1) for j in range(2 * reach + 1))
            w = (w + 1e-8) ** x["sharpness"]
            w = w / w.sum(-1, keepdim=True)
            memory = x["memory"]
            for h in range(w.shape[1]):
                memory = memory * (1 - w[:, h, :, None] * x["erase"][:, h, None])
            for h in range(w.shape[1]):
                memory = memory + w[:, h, :, None] * x["added"][:, h, None]
            return {"weights": w, "read": w @ x["memory"], "after": memory}

        golden.record(case, inputs, run)
    return golden


SUBJECTS = (linear_attend, linear_attention, lstmn, addressing)
