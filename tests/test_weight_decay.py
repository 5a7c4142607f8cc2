"""Weight decay shrinks kernels, and neither biases nor the weights of norms."""

import pytest
from notebook_competitions import write_shops
from notebook_session import Mirror, Sessions, needs_torch, of_shops

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

# A step without a gradient, after which only what decays is smaller.
IN_KERAS = """
import keras
ones = {"bias_initializer": "ones"}
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, **ones), keras.layers.LayerNormalization()])
optimizer = make_optimizer(np.full(9, 0.5, "float32"))
optimizer.build(model.trainable_variables)
before = {each.path.split("/")[-1]: keras.ops.convert_to_numpy(each) for each in model.trainable_variables}
optimizer.apply([keras.ops.zeros(each.shape) for each in model.trainable_variables])
after = {each.path.split("/")[-1]: keras.ops.convert_to_numpy(each) for each in model.trainable_variables}
"""
IN_JAX = """
from flax import nnx
model = nnx.Sequential(nnx.Linear(3, 2, bias_init=nnx.initializers.ones, rngs=nnx.Rngs(0)))
model.norm = nnx.LayerNorm(2, use_bias=False, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, make_optimizer(np.full(9, 0.5)), wrt=nnx.Param)
before = {path[-1]: np.array(each[...]) for path, each in nnx.to_flat_state(nnx.state(model, nnx.Param))}
optimizer.update(model, jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param)))
after = {path[-1]: np.array(each[...]) for path, each in nnx.to_flat_state(nnx.state(model, nnx.Param))}
before, after = ({"gamma" if name == "scale" else name: each for name, each in of.items()} for of in (before, after))
"""
IN_TORCH = """
layers = {"dense": nn.Linear(3, 2), "norm": nn.LayerNorm(2)}
names = {"kernel": layers["dense"].weight, "bias": layers["dense"].bias, "gamma": layers["norm"].weight}
before = {name: each.detach().numpy().copy() for name, each in names.items()}
optimizer = make_optimizer([*names.values()])
for each in names.values():
    each.grad = torch.zeros_like(each)
optimizer.step()
after = {name: each.detach().numpy() for name, each in names.items()}
"""


@pytest.mark.parametrize(
    ("framework", "step"),
    [
        ("keras", IN_KERAS),
        ("jax", IN_JAX),
        pytest.param("torch", IN_TORCH, marks=needs_torch),
    ],
)
def test_biases_and_weights_of_norms_do_not_decay(sessions: Sessions, shops: Mirror, framework: str, step: str) -> None:
    write_shops(shops.competition)
    notebook = of_shops(framework, "train", {"optimizer": lambda cell: cell + step})
    look = "{name: float(np.abs(after[name] / before[name]).mean()) for name in ('kernel', 'bias', 'gamma')}"

    share = sessions.finished(notebook, shops.parameters(notebook, WEIGHT_DECAY=0.1), look=look, until="optimizer").seen

    assert share["kernel"] < 0.96
    assert share["bias"] == share["gamma"] == 1
