#!/usr/bin/env python3
# Measures JAX on the decoders' training steps, in this process: f32, CPU, compiled with jit. Needs JAX.
"""A second opinion beside PyTorch: the same models and sizes as blocks.py, written with JAX's functions.

    jax_steps.py --case decoder_step_jax --threads 2 --malloc tuned

Output: a JSON object: name, threads, malloc, median_ms, variant, variants_ms, jax. The variants: attention as plain
operations, and JAX's own fused function, each with parameters that one compiled step updates in place."""
import argparse
import json
import math
import os
import sys

sys.dont_write_bytecode = True
from main import environment, median_ms

DECODER, BABYGPT = (65, 64, 64, 4, 256, 2, 32), (65, 64, 128, 4, 512, 4, 12)
CASES = {"decoder_step_jax": DECODER, "babygpt_step_jax": BABYGPT}
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def affine(x, parameters):
    return x @ parameters["weight"] + parameters["bias"]


def norm(x, parameters):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    scaled = centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    return scaled * parameters["weight"] + parameters["bias"]


def plain(query, key, value):
    """Causal attention of (batch, time, heads, width) with plain operations."""
    time = query.shape[1]
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((time, time), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), value)


def fused(query, key, value):
    return jax.nn.dot_product_attention(query, key, value, is_causal=True)


def logits_of(parameters, ids, heads, attention):
    x = parameters["words"][ids] + parameters["places"]
    for block in parameters["blocks"]:
        parts = jnp.split(affine(norm(x, block["own_norm"]), block["joined"]), 3, axis=-1)
        query, key, value = (part.reshape(*part.shape[:2], heads, -1) for part in parts)
        x = x + affine(attention(query, key, value).reshape(x.shape), block["output"])
        inner = jax.nn.gelu(affine(norm(x, block["units_norm"]), block["inner"]), approximate=False)
        x = x + affine(inner, block["outer"])
    return affine(norm(x, parameters["norm"]), parameters["output"])


def first_values(words, time, width, units, layers):
    """Parameters from a normal distribution, with a bias for each product and each norm."""
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 8 * layers + 8))

    def linear(inputs, outputs):
        weight = jax.random.normal(next(keys), (inputs, outputs)) / math.sqrt(inputs)
        return {"weight": weight, "bias": jnp.zeros(outputs)}

    def ones():
        return {"weight": jnp.ones(width), "bias": jnp.zeros(width)}

    def block():
        return {"own_norm": ones(), "joined": linear(width, 3 * width), "output": linear(width, width),
                "units_norm": ones(), "inner": linear(width, units), "outer": linear(units, width)}

    return {"words": jax.random.normal(next(keys), (words, width)), "norm": ones(), "output": linear(width, words),
            "places": 0.02 * jax.random.normal(next(keys), (time, width)), "blocks": [block() for _ in range(layers)]}


def training_step(sizes, attention):
    """Forward, cross-entropy, backward and Adam as one compiled function. Each call waits for its results."""
    words, time, width, heads, units, layers, batch = sizes
    parameters = first_values(words, time, width, units, layers)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    ids, targets = jax.random.randint(jax.random.PRNGKey(2), (2, batch, time), 0, words)

    def loss(values):
        chances = jax.nn.log_softmax(logits_of(values, ids, heads, attention), axis=-1)
        return -jnp.take_along_axis(chances, targets[..., None], axis=-1).mean()

    def step(values, first, second, count):
        value, gradients = jax.value_and_grad(loss)(values)
        first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradients)
        rate = RATE / (1 - BETA1**count)

        def moved(x, m, v):
            return x - rate * m / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)

        return jax.tree.map(moved, values, first, second), first, second, count + 1, value

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    state = [parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.float32(1)]

    def run():
        *state[:], value = compiled(*state)
        return value.block_until_ready()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--case", required=True, choices=CASES)
    add("--threads", type=int, default=1)
    add("--malloc", choices=("default", "tuned"), default="default")
    add("--budget", type=float, default=0.6, help="seconds of measuring a variant")
    options = parser.parse_args()
    wanted = environment(options.threads, options.malloc, "auto")
    # XLA has as many threads as the process may use processors.
    wanted["XLA_FLAGS"] = "" if options.threads > 1 else "--xla_cpu_multi_thread_eigen=false"
    wanted["JAX_PLATFORMS"] = "cpu"
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]], wanted)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])

    global jax, jnp
    import jax
    import jax.numpy as jnp

    results = {}
    for name, attention in (("plain", plain), ("fused", fused)):
        results[name] = float(f"{median_ms(training_step(CASES[options.case], attention), options.budget):.5g}")
    variant = min(results, key=results.get)
    print(json.dumps({"name": options.case, "threads": options.threads, "malloc": options.malloc,
                      "median_ms": results[variant], "variant": variant, "variants_ms": results,
                      "jax": jax.__version__}))


if __name__ == "__main__":
    main()
