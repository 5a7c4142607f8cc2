"""The pairs of every layout in every framework."""

from layouts import Layout

from generator.competition.facts import Competition
from generator.competition.schema import families
from generator.pair.choices import Choice, Choices, MadeBy, merge_choices, propose_choices

FRAMEWORKS_OF = {family.name: family.frameworks for family in families().values()}


def layout_choices(layout: Layout) -> dict[str, Choices]:
    """The choices of a layout's pair in every framework that its family has."""
    task = layout.read().task
    competition = Competition(slug=layout.name.replace("_", "-"), title=layout.name, is_code_competition=True)
    owner = Choice("ada", MadeBy.FLAG)
    return {
        framework: merge_choices(
            propose_choices(competition, task, framework=framework, owner=owner), Choices(), flags={}
        )
        for framework in FRAMEWORKS_OF[task.family]
    }
