"""Averages of the weights are predicted with and handed over; the steps go on from the weights themselves."""

import pytest
from notebook_competitions import write_shops
from notebook_session import Mirror, Sessions, of_shops

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

WEIGHTS = "[np.asarray(weight).tolist() for weight in {}]"
MODEL, OPTIMIZER = "model.trainable_variables", "model.optimizer._model_variables_moving_average"


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_averages_are_predicted_with_and_change_no_step(sessions: Sessions, shops: Mirror, framework: str) -> None:
    write_shops(shops.competition)
    plain, averaging = of_shops(framework, "train"), of_shops(framework, "train", ema=0.9)
    parameters = shops.parameters(plain, EPOCHS=3, DROPOUT=0.0)

    steps = sessions.finished(plain, parameters, look=WEIGHTS.format(MODEL)).seen
    look = f"[{WEIGHTS.format(MODEL)}, {WEIGHTS.format(OPTIMIZER)}]"
    averages, kept = sessions.finished(averaging, parameters, look=look, until="train").seen

    assert kept == steps
    assert averages != steps
