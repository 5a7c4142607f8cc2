"""The pairs of every layout in every framework."""

from layouts import Layout

from generator.competition.facts import Competition
from generator.competition.schema import families
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings

FRAMEWORKS_OF = {family.name: family.frameworks for family in families().values()}


def layout_choices(layout: Layout) -> dict[str, Settings]:
    """The choices of a layout's pair in every framework that its family has."""
    task = layout.read().task
    competition = Competition(slug=layout.name.replace("_", "-"), title=layout.name, is_code_competition=True)
    owner = SettingValue("ada", Origin.FLAG)
    return {
        framework: propose_settings(competition, task, framework=framework, owner=owner)
        for framework in FRAMEWORKS_OF[task.family]
    }
