"""How many cases the fuzzers try: some hundred in the gate, thousands with `--hypothesis-profile=fuzz`."""

from hypothesis import HealthCheck, settings

_EVERYWHERE = {"deadline": None, "print_blob": True, "suppress_health_check": list(HealthCheck)}
settings.register_profile("gate", max_examples=150, derandomize=True, database=None, **_EVERYWHERE)
settings.register_profile("fuzz", max_examples=5_000, **_EVERYWHERE)
if settings.get_current_profile_name() in ("default", "ci"):
    settings.load_profile("gate")
