"""Templates become notebooks, whatever a competition is called; errors name the template and its line."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import jinja2
import pytest
from miniature import write_tree

from generator.competition import builtin
from generator.errors import PairError
from generator.pair.notebook import ParameterError, PercentError, UnknownParameterError, read_parameters
from generator.pair.rendering import compiled_templates, jinja_environment, render_kernels
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings
from generator.pair.workspace import Role

TRAIN, INFER = Path("train/train.ipynb"), Path("infer/infer.ipynb")

NASTY_TITLES = [
    "it's",
    'say "hi"',
    "two\nlines\r\nand # %% more",
    "{{ 7 * 7 }} {% if x %} {# comment #}",
    '# %% name="evil"',
    "%% [markdown]",
    "back\\slash \\",
    "🚀 👨‍👩‍👧",
    '"""\nimport os\n"""',
    "\u2028\u2029\x85\x0b\x0c\x1b[31m\x00",
    "\ud83d alone",
    "<script>alert(1)</script> | $x$ | `code`",
    "",
]


def choices(title: str = "Handwritten digits", **parameters: object) -> Settings:
    digits = builtin.require("digits")
    facts = replace(digits.competition, title=title)
    by_hand = {name: SettingValue(value, Origin.HAND) for name, value in parameters.items()}
    proposal = propose_settings(facts, digits.task, framework="keras", owner=SettingValue("ada", Origin.FLAG))
    return replace(proposal, parameters=by_hand)


def cells_of(content: bytes) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(content)["cells"]}


@pytest.mark.parametrize("title", NASTY_TITLES)
def test_any_title_survives_rendering(miniature_templates: Path, title: str) -> None:
    import nbformat

    files = render_kernels(choices(title))

    for path in (TRAIN, INFER):
        nbformat.validate(nbformat.reads(files[path].decode(), as_version=4))
        cells = cells_of(files[path])
        assert list(cells) == ["title", "parameters", "work"]
        assert "\n" not in cells["title"]
        assert read_parameters(cells["parameters"])["TITLE"] == title.encode("utf-8", "replace").decode()
        ast.parse(cells["work"])


@pytest.mark.parametrize("title", NASTY_TITLES)
def test_any_title_survives_the_real_templates(title: str) -> None:
    files, plain_files = render_kernels(choices(title)), render_kernels(choices())

    for path in (TRAIN, INFER):
        cells, plain = cells_of(files[path]), cells_of(plain_files[path])
        # The title stands in Markdown alone, in a heading of one line: no code depends on it.
        assert list(cells) == list(plain)
        assert [name for name in cells if cells[name] != plain[name]] == ["title"]
        heading, *lines = cells["title"].split("\n")
        assert heading.startswith("# ")
        assert lines == plain["title"].split("\n")[1:]


def test_rendering_twice_gives_the_same_bytes(miniature_templates: Path) -> None:
    assert render_kernels(choices()) == render_kernels(choices())
    assert render_kernels(choices()) == render_kernels(choices())


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_jupytext_reads_the_real_templates_as_the_same_cells(framework: str) -> None:
    import jupytext

    from generator.pair.notebook import parse_percent_cells
    from generator.pair.rendering import render_text
    from generator.pair.spec import spec_of

    spec = spec_of(choices().override({"framework": framework}))
    for role in Role:
        text = render_text(spec, role)
        theirs = jupytext.reads(text.lstrip(), fmt="py:percent").cells

        assert [(cell.metadata.get("name"), str(cell.cell_type), cell.source.strip("\n")) for cell in theirs] == [
            (cell.name, str(cell.kind), cell.source.strip("\n")) for cell in parse_percent_cells(text)
        ]


def test_a_users_parameter_goes_into_the_notebooks_that_have_it(miniature_templates: Path) -> None:
    files = render_kernels(choices(EPOCHS=3, TITLE="mine"))

    assert "EPOCHS = 3\n" in cells_of(files[TRAIN])["parameters"]
    assert "EPOCHS" not in cells_of(files[INFER])["parameters"]
    assert all('TITLE = "mine"\n' in cells_of(files[path])["parameters"] for path in (TRAIN, INFER))


def test_a_users_parameter_that_no_notebook_has_or_takes_is_refused(miniature_templates: Path) -> None:
    with pytest.raises(UnknownParameterError, match=r'no parameter "EPOCH".* Did you mean "EPOCHS"'):
        render_kernels(choices(EPOCH=3))
    with pytest.raises(ParameterError, match="EPOCHS must be a whole number"):
        render_kernels(choices(EPOCHS="three"))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("train.py.j2", '# %% name="a"\nx = 1\ny = {{ competition.sulg | py }}\n', r"train\.py\.j2, line 3 .*sulg"),
        ("train.py.j2", '# {% include "shared.py.j2" %}\n', r"train\.py\.j2, line 1 .*no template shared\.py\.j2"),
        ("train.py.j2", '# %% name="a"\n# {% if %}\n', r"train\.py\.j2, line 2 "),
        ("train.py.j2", "# {% block a %}\n", r"train\.py\.j2, line 1 "),
        ("_layout.py.j2", "\n\n{{ task.nothing }}\n", r"_layout\.py\.j2, line 3 .*nothing"),
        ("infer.py.j2", "{{ task.epochs }}\n", r"infer\.py\.j2, line 1 .*epochs"),  # a key of training only
        ("train.py.j2", "{{ competition | py }}\n", r"train\.py\.j2, line 1 .*no Python literal"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_named_with_its_line(
    miniature_templates: Path, file: str, text: str, message: str
) -> None:
    (miniature_templates / file).write_text(text)

    with pytest.raises(PairError, match=message):
        render_kernels(choices())


def test_a_broken_include_is_named_and_not_the_template_that_includes_it(miniature_templates: Path) -> None:
    (miniature_templates / "train.py.j2").write_text('# %% name="a"\n# {% include "part.py.j2" %}\n')
    (miniature_templates / "part.py.j2").write_text("x = 1\nx = {{ pair.nothing }}\n")

    with pytest.raises(PairError, match=r"The template part\.py\.j2, line 2 cannot be rendered"):
        render_kernels(choices())


PARTS = "# {# section first #}\nx = 1\n\n\n# {# section second #}\nx = {{ pair.nothing }}\n"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("second", r"The template part\.py\.j2, line 6 cannot be rendered: .*nothing"),
        ("third", r"The template train\.py\.j2, line 2 cannot be rendered: there is no template part\.py\.j2#third"),
    ],
)
def test_a_broken_or_misspelt_section_is_named_with_its_file_and_line(
    miniature_templates: Path, section: str, message: str
) -> None:
    (miniature_templates / "train.py.j2").write_text(f'# %% name="a"\n# {{% include "part.py.j2#{section}" %}}\n')
    (miniature_templates / "part.py.j2").write_text(PARTS)

    with pytest.raises(PairError, match=message):
        render_kernels(choices())


def test_a_section_that_a_framework_lacks_is_that_of_the_one_it_extends_or_else_of_all(
    miniature_templates: Path,
) -> None:
    of = {
        "tensorflow": "# {# section a #}\nx = 1\n",
        "keras": "# {# section a #}\nx = 2\n\n\n# {# section b #}\nx = 3\n",
        "common": "# {# section b #}\nx = 4\n\n\n# {# section c #}\n",
    }
    write_tree(miniature_templates, {f"frameworks/{name}/train.py.j2": text for name, text in of.items()})
    with (miniature_templates / "frameworks/tensorflow/framework.toml").open("a") as declared:
        declared.write('extends = "keras"\n')
    templates = jinja_environment(miniature_templates)

    rendered = {
        (name, section): templates.get_template(f"frameworks/{name}/train.py.j2#{section}").render()
        for name in ("tensorflow", "torch")
        for section in ("b", "c")
    }

    assert templates.get_template("frameworks/tensorflow/train.py.j2#a").render() == "x = 1\n"
    assert rendered == {
        ("tensorflow", "b"): "x = 3\n",
        ("tensorflow", "c"): "",
        ("torch", "b"): "x = 4\n",
        ("torch", "c"): "",
    }
    with pytest.raises(jinja2.TemplateNotFound):
        templates.get_template("frameworks/torch/train.py.j2#a")


def test_a_wrong_cell_header_is_named_with_its_template_and_line(miniature_templates: Path) -> None:
    (miniature_templates / "train.py.j2").write_text('# {% include "part.py.j2" %}\n')
    (miniature_templates / "part.py.j2").write_text(
        '# {% if role == "train" %}\n# %% name="Setup"\nx = 1\n# {% endif %}\n'
    )

    with pytest.raises(PercentError, match=r"the template part\.py\.j2, line 2: a cell needs a name"):
        render_kernels(choices())


def test_rendered_code_that_is_not_python_is_named_by_its_cell(miniature_templates: Path) -> None:
    (miniature_templates / "infer.py.j2").write_text('# %% name="model"\nif:\n')

    with pytest.raises(PairError, match='The infer notebook\'s cell "model" is not valid Python'):
        render_kernels(choices())


def test_compiled_templates_are_kept_and_only_those_that_are_unchanged_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    (tmp_path / "greeting.j2").write_text("Hello.")

    assert jinja_environment.__wrapped__(tmp_path).get_template("greeting.j2").render() == "Hello."
    kept = [path for path in (tmp_path / "caches").rglob("*") if path.is_file()]
    assert len(kept) == 1
    (tmp_path / "greeting.j2").write_text("Goodbye.")
    assert jinja_environment.__wrapped__(tmp_path).get_template("greeting.j2").render() == "Goodbye."


@pytest.mark.parametrize("content", [b"", b"j2", b"\x00" * 100])
def test_a_damaged_compiled_template_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    (tmp_path / "greeting.j2").write_text("Hello.")
    jinja_environment.__wrapped__(tmp_path).get_template("greeting.j2")
    for path in (tmp_path / "caches").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:24] + content)

    assert jinja_environment.__wrapped__(tmp_path).get_template("greeting.j2").render() == "Hello."


def test_compiled_templates_that_others_may_write_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    first = compiled_templates()
    assert first is not None
    Path(first.directory).chmod(0o777)

    assert compiled_templates() is None


def test_without_a_place_for_compiled_templates_pairs_are_rendered_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "greeting.j2").write_text("Hello.")

    assert jinja_environment.__wrapped__(tmp_path).get_template("greeting.j2").render() == "Hello."


def test_a_cell_that_only_one_notebook_has_does_not_say_that_it_is_in_both(miniature_templates: Path) -> None:
    shared = "# The same in both notebooks.\ndef f():\n    pass\n"
    for name, others in {"train.py.j2": '# %% name="alone"\n' + shared, "infer.py.j2": ""}.items():
        (miniature_templates / name).write_text(f'# %% name="twice"\n{shared}{others}')

    files = render_kernels(choices())

    assert cells_of(files[TRAIN]) == {"twice": shared.rstrip("\n"), "alone": "def f():\n    pass"}
    assert cells_of(files[INFER]) == {"twice": shared.rstrip("\n")}
