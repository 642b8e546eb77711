# Golden trajectories of the optimisers, of clipping and of the learning-rate schedules, 20 steps each.
import math

import torch

from recorder import Golden

STEPS = 20

# name: (optimiser, one dict of settings a group; a single dict serves both weights)
OPTIMISERS = {
    "sgd": (torch.optim.SGD, [{"lr": 0.1}]),
    "sgd_momentum": (torch.optim.SGD, [{"lr": 0.05, "momentum": 0.9}]),
    "sgd_nesterov": (torch.optim.SGD, [{"lr": 0.05, "momentum": 0.8, "nesterov": True}]),
    "sgd_weight_decay": (torch.optim.SGD, [{"lr": 0.1, "weight_decay": 0.3}]),
    "sgd_momentum_weight_decay": (torch.optim.SGD, [{"lr": 0.05, "momentum": 0.9, "weight_decay": 0.2}]),
    "adam": (torch.optim.Adam, [{"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-8}]),
    "adam_odd": (torch.optim.Adam, [{"lr": 0.03, "betas": (0.7, 0.95), "eps": 0.05}]),
    "adam_weight_decay": (
        torch.optim.Adam,
        [{"lr": 0.02, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": 0.2}],
    ),
    "adamw": (
        torch.optim.AdamW,
        [{"lr": 0.02, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.3}],
    ),
    "adamw_groups": (
        torch.optim.AdamW,
        [
            {"lr": 0.02, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.4},
            {"lr": 0.05, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.0},
        ],
    ),
}

# name: (formula with t = 1 at the first update, factor of t)
WARM_UP, PERIOD, GAMMA, TOTAL, FLOOR = 5, 6, 0.5, 18, 0.1


def cosine(t):
    if t <= WARM_UP:
        return t / WARM_UP
    part = min(1.0, (t - WARM_UP) / (TOTAL - WARM_UP))
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * part))


SCHEDULES = {
    "constant": ("1", lambda t: 1.0),
    "step": ("gamma^floor((t - 1) / period)", lambda t: GAMMA ** ((t - 1) // PERIOD)),
    "warm_up": ("min(1, t / warm_up)", lambda t: min(1.0, t / WARM_UP)),
    "cosine": (
        "t <= warm_up: t / warm_up; else floor + (1 - floor) (1 + cos(pi p)) / 2"
        " with p = min(1, (t - warm_up) / (total - warm_up))",
        cosine,
    ),
    "inverse_square_root": (
        "min(t / warm_up, sqrt(warm_up / t))",
        lambda t: min(t / WARM_UP, math.sqrt(WARM_UP / t)),
    ),
}


def check_schedules():
    """PyTorch's own schedulers agree where they have the same formula."""

    def rates(make, count, base=1.0):
        optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
        scheduler, out = make(optimiser), []
        for _ in range(count):
            out.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            scheduler.step()
        return torch.tensor(out, dtype=torch.float64)

    library = torch.optim.lr_scheduler
    step = rates(lambda o: library.StepLR(o, PERIOD, GAMMA), STEPS)
    ours = torch.tensor([SCHEDULES["step"][1](t) for t in range(1, STEPS + 1)], dtype=torch.float64)
    torch.testing.assert_close(step, ours, rtol=1e-12, atol=0)
    after = rates(lambda o: library.CosineAnnealingLR(o, TOTAL - WARM_UP, FLOOR), TOTAL - WARM_UP + 1)
    ours = torch.tensor([cosine(t) for t in range(WARM_UP, TOTAL + 1)], dtype=torch.float64)
    torch.testing.assert_close(after, ours, rtol=1e-12, atol=0)
    linear = rates(lambda o: library.LinearLR(o, 1 / WARM_UP, 1.0, WARM_UP - 1), STEPS)
    ours = torch.tensor([SCHEDULES["warm_up"][1](t) for t in range(1, STEPS + 1)], dtype=torch.float64)
    torch.testing.assert_close(linear, ours, rtol=1e-12, atol=0)


def optimisers():
    golden = Golden("optim", "two weights, given gradients, the weights after each of 20 steps")
    golden.note("loss", "none: gradients/weight.K[i] is the gradient at step i, whatever the weights are")
    golden.note("names", "start/weight.K; gradients/weight.K, one a step; CASE/weight.K, after each step")
    golden.note("settings", "CASE/lr, momentum, ...; adamw_groups/group.K/lr, ...: the group of weight K")
    golden.note("sgd", "g += weight_decay w; m = momentum m + g; w -= lr m, Nesterov: lr (g + momentum m)")
    golden.note("adam", "g += weight_decay w; w -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)")
    golden.note("adamw", "w *= 1 - lr weight_decay, then Adam's step")
    golden.note("clip", "norm of both before clipping; g *= min(1, max_norm / (norm + 1e-6)); then SGD")
    golden.note("schedule", "SGD with momentum 0.9 and rate base * factor(t), t = 1 at the first update")

    draw = golden.draw("start")
    start = [draw.normal(3, 4), draw.normal(9)]
    growth = torch.linspace(0.05, 2, STEPS)
    gradients = [draw.normal(STEPS, *w.shape) * growth.view(-1, *[1] * w.dim()) for w in start]
    for k in range(2):
        golden.put(f"start/weight.{k}", start[k])
        golden.put(f"gradients/weight.{k}", gradients[k])

    def run(case, make, before_step=lambda i, weights, optimiser: None):
        weights = [w.clone().requires_grad_() for w in start]
        optimiser, after = make(weights), [[], []]
        for i in range(STEPS):
            for k in range(2):
                weights[k].grad = gradients[k][i].clone()
            before_step(i, weights, optimiser)
            optimiser.step()
            for k in range(2):
                after[k].append(weights[k].detach().clone())
        for k in range(2):
            golden.put(f"{case}/weight.{k}", torch.stack(after[k]))

    for case, (optimiser, groups) in OPTIMISERS.items():
        # foreach=False: the plain loop, one rounding order on every machine.
        if len(groups) == 1:
            run(case, lambda w: optimiser(w, **groups[0], foreach=False))
        else:
            run(case, lambda w: optimiser([{"params": [p], **g} for p, g in zip(w, groups)], foreach=False))
        for k, settings in enumerate(groups):
            prefix = case if len(groups) == 1 else f"{case}/group.{k}"
            for name, value in settings.items():
                if name == "betas":
                    golden.put(f"{prefix}/beta1", value[0])
                    golden.put(f"{prefix}/beta2", value[1])
                else:
                    golden.put(f"{prefix}/{name}", float(value))

    norms, limit = [], 2.0

    def clip(i, weights, optimiser):
        norms.append(torch.nn.utils.clip_grad_norm_(weights, limit, foreach=False))

    run("clip", lambda w: torch.optim.SGD(w, lr=0.1, foreach=False), clip)
    norms = torch.stack(norms)
    if (norms < limit).all() or (norms > limit).all():
        raise ValueError("clip: some steps must be clipped and some not")
    golden.put("clip/norm", norms)
    golden.put("clip/max_norm", limit)
    golden.put("clip/lr", 0.1)

    check_schedules()
    base = 0.2
    settings = {"base": base, "warm_up": WARM_UP, "period": PERIOD}
    settings.update({"gamma": GAMMA, "total": TOTAL, "floor": FLOOR})
    for name, value in settings.items():
        golden.put(f"schedule/{name}", value)
    for name, (formula, factor) in SCHEDULES.items():
        golden.note(f"schedule {name}", formula)
        rates = [base * factor(t) for t in range(1, STEPS + 1)]

        def set_rate(i, weights, optimiser):
            optimiser.param_groups[0]["lr"] = rates[i]

        run(f"schedule_{name}", lambda w: torch.optim.SGD(w, lr=base, momentum=0.9, foreach=False), set_rate)
        golden.put(f"schedule_{name}/rates", torch.tensor(rates, dtype=torch.float64))
    return golden


SUBJECTS = (optimisers,)
