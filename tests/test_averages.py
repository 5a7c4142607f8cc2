"""Averages of the weights are predicted with and handed over; the steps go on from the weights themselves."""

import pytest
from notebook_competitions import write_shops
from notebook_session import Mirror, Sessions, needs_torch, of_shops

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

WEIGHTS = "[np.asarray({}).tolist() for weight in {}]"
IN_KERAS = [
    WEIGHTS.format("weight", variables)
    for variables in ("model.trainable_variables", "model.optimizer._model_variables_moving_average")
]
IN_TORCH = [WEIGHTS.format("weight.detach()", f"model['{part}'].parameters()") for part in ("network", "learner")]


@pytest.mark.parametrize(
    ("framework", "predicting", "learning"),
    [
        ("keras", *IN_KERAS),
        pytest.param("torch", *IN_TORCH, marks=needs_torch),
    ],
)
def test_averages_are_predicted_with_and_change_no_step(
    sessions: Sessions, shops: Mirror, framework: str, predicting: str, learning: str
) -> None:
    write_shops(shops.competition)
    plain, averaging = of_shops(framework, "train"), of_shops(framework, "train", ema=0.9)
    parameters = shops.parameters(plain, EPOCHS=3, DROPOUT=0.0)

    steps = sessions.finished(plain, parameters, look=predicting).seen
    averages, kept = sessions.finished(averaging, parameters, look=f"[{predicting}, {learning}]", until="train").seen

    assert kept == steps
    assert averages != steps
