"""The nearest name is offered where there is one."""

from generator.errors import did_you_mean


def test_the_nearest_name_is_offered_whatever_its_case() -> None:
    assert did_you_mean("epoch", ["EPOCHS", "SEED"]) == ' Did you mean "EPOCHS"?'


def test_a_name_of_several_words_is_offered_for_its_initials() -> None:
    known = ["auc", "quadratic_weighted_kappa", "q"]
    assert did_you_mean("QWK", known) == ' Did you mean "quadratic_weighted_kappa"?'
    assert did_you_mean("q", ["quadratic"]) == ""


def test_nothing_is_offered_where_no_name_is_near() -> None:
    assert did_you_mean("xyz", ["EPOCHS", "SEED"]) == ""
