"""The gateway at a local Kaggle: the whole of its interface, and every fault that concerns it."""

import itertools
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedRunner, writing
from serving import Served, notebook, served
from toy import toy_competition

from generator.files import WorkspaceFiles
from generator.kaggle import errors
from generator.kaggle.api_types import (
    DatasetState,
    DatasetUpload,
    KernelPush,
    PushResult,
    SessionState,
    SubmissionStatus,
)
from generator.kaggle.competition_data import Source, download_source
from generator.kaggle.credentials import AccessToken
from generator.kaggle.gateway import Kaggle, Target, connect
from generator.kaggle.transport import RetryPolicy, Timeouts
from generator.localkaggle.rpc import TRANSPORT

PASSING_FAULTS = [name for name in TRANSPORT if name not in ("401", "stall")]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One local Kaggle for all tests here, each of which uses kernels and datasets of names of its own."""
    with served(tmp_path_factory.mktemp("kaggle") / "root", runner=ScriptedRunner()) as running:
        yield running


@pytest.fixture
def kaggle_here(one_server: Served) -> Iterator[Served]:
    """That local Kaggle with good manners at first, and nothing left to do at the end."""
    one_server.set_faults()
    yield one_server
    one_server.set_faults()
    assert one_server.local_kaggle.kernels.sessions.queue.wait_until_idle(60)


def gateway(served: Served, *, read: float = 20) -> Kaggle:
    retries = RetryPolicy(attempts=4, sleep=lambda _: None)
    return Kaggle(
        served.address, AccessToken(served.token, source="a test"), retries=retries, timeouts=Timeouts(read=read)
    )


def kernel(account: str, **changes: Any) -> KernelPush:
    name = f"digits-infer-{next(_numbers)}"
    fields: dict[str, Any] = {
        "ref": f"{account}/{name}",
        "title": name.replace("-", " ").capitalize(),
        "text": notebook(),
        "machine_shape": "NvidiaTeslaT4",
        "enable_gpu": True,
        "enable_tpu": False,
        "enable_internet": False,
        "competition_sources": ("digits",),
    }
    return KernelPush(**{**fields, **changes})


@pytest.fixture
def kaggle(kaggle_here: Served) -> Kaggle:
    """A gateway to it."""
    return gateway(kaggle_here)


def finished(served: Served, files: dict[str, str | bytes], **changes: Any) -> KernelPush:
    """A kernel that was pushed and whose session wrote these files and ended."""
    served.local_kaggle.kernels.sessions._runner.script = writing(files)
    push = kernel(served.account, **changes)
    gateway(served).kernels.push(push)
    assert served.local_kaggle.kernels.sessions.queue.wait_until_idle(60)
    return push


@pytest.fixture
def ended(kaggle_here: Served) -> KernelPush:
    """A kernel whose session ended with a submission."""
    return finished(kaggle_here, {"submission.csv": "id,label\n1,2\n"})


def submit(kaggle: Kaggle, push: KernelPush) -> int:
    """Submits what a kernel wrote; the message is the kernel's name."""
    return kaggle.competitions.submit_kernel(
        "digits", kernel=push.ref, version=1, file_name="submission.csv", message=push.ref
    )


def push_again(kaggle: Kaggle, push: KernelPush) -> PushResult:
    return kaggle.kernels.push(push)


@pytest.fixture
def upload(tmp_path: Path) -> DatasetUpload:
    """Files for a dataset or a model."""
    (tmp_path / "w.bin").write_bytes(b"w" * 100_000)
    return DatasetUpload("Some weights", {"w.bin": tmp_path / "w.bin", "folds/0/w.bin": tmp_path / "w.bin"}, "notes")


def test_a_running_server_is_found_and_knows_who_asks(kaggle_here: Served, tmp_path: Path) -> None:
    kaggle_here.record(tmp_path)

    kaggle = connect(Target.LOCAL, environment={"TANDEM_LOCAL_KAGGLE": str(tmp_path)})

    assert kaggle.username() == kaggle_here.account
    assert kaggle.is_local
    assert kaggle.warnings() == ()


def test_the_facts_of_a_competition_are_read(kaggle: Kaggle) -> None:
    found = kaggle.competitions.facts("digits")

    assert (found.slug, found.is_code_competition) == ("digits", True)
    assert {"evaluation", "code-requirements"} <= kaggle.competitions.pages("digits").keys()
    assert kaggle.competitions.submissions_left("digits") == 5


@pytest.mark.slow
def test_the_data_of_a_competition_are_listed_and_fetched(kaggle: Kaggle, tmp_path: Path) -> None:
    files = {file.name: file.size for file in kaggle.competitions.list_files("diabetes")}
    top = kaggle.competitions.list_folder("diabetes", "", most=10)
    url = kaggle.competitions.file_url("diabetes", "train.csv")
    *_, last = kaggle.files.download(url, tmp_path / "train.csv", size=files["train.csv"])
    archive = kaggle.competitions.archive_url("diabetes")
    list(kaggle.files.download(archive, tmp_path / "all.zip"))

    assert {file.name: file.size for file in top.files} == files
    assert last == files["train.csv"] == (tmp_path / "train.csv").stat().st_size
    assert kaggle.files.read_range(url, 3, 5) == (tmp_path / "train.csv").read_bytes()[3:8]
    assert set(zipfile.ZipFile(tmp_path / "all.zip").namelist()) == set(files)


def test_a_pushed_kernel_is_followed_to_its_output(kaggle_here: Served, kaggle: Kaggle, tmp_path: Path) -> None:
    push = finished(kaggle_here, {"submission.csv": "id,label\n", "folds/w.bin": b"w" * 200_000})

    output = kaggle.kernels.output(push.ref, 1)
    kaggle.files.fetch_output(output.files[0], tmp_path / "w.bin")
    found = kaggle.kernels.find(push.ref)

    assert kaggle.kernels.session_status(push.ref, 1).state is SessionState.COMPLETE
    assert [(file.name, file.size) for file in output.files] == [("folds/w.bin", 200_000), ("submission.csv", 9)]
    assert (tmp_path / "w.bin").read_bytes() == b"w" * 200_000
    assert "ends" in output.log
    assert output.log == "".join(line.text for line in kaggle.kernels.log_lines(push.ref))
    assert found is not None
    assert (found.version, found.source) == (1, push.text)
    records, name = kaggle_here.local_kaggle.kernels.records, push.ref.split("/")
    assert records.kernel(*name).title == push.title
    assert records.find_version(*name, 1).settings.machine_shape == "NvidiaTeslaT4"
    assert kaggle.kernels.find(f"{kaggle_here.account}/no-such-kernel") is None
    with pytest.raises(errors.NotFoundError):
        kaggle.kernels.session_status(push.ref, 2)


def test_a_version_is_submitted_and_found_again(kaggle: Kaggle, ended: KernelPush) -> None:
    ref = submit(kaggle, ended)

    found = kaggle.competitions.submission("digits", ref)
    assert found.description == ended.ref
    assert found.status in (SubmissionStatus.PENDING, SubmissionStatus.ERROR)
    assert ref in [submission.ref for submission in kaggle.competitions.submissions("digits")]


def test_datasets_and_models_get_version_after_version(
    kaggle_here: Served, kaggle: Kaggle, upload: DatasetUpload
) -> None:
    me = kaggle_here.account

    assert kaggle.datasets.state(f"{me}/weights-a") is DatasetState.MISSING
    assert [kaggle.datasets.upload(f"{me}/weights-a", upload) for _ in range(2)] == [1, 2]
    assert kaggle.datasets.version(f"{me}/weights-a") == 2
    assert kaggle.datasets.state(f"{me}/weights-a") is DatasetState.READY
    assert [kaggle.models.upload(f"{me}/my-model/keras/main", upload) for _ in range(2)] == [1, 2]
    assert kaggle.models.version(f"{me}/my-model/keras/main") == 2
    assert kaggle.models.version(f"{me}/my-model/jax/main") == 0


@pytest.mark.parametrize(("kind", "name"), [("dataset", "weights-b"), ("model", "b-model/keras/main/1")])
def test_a_dataset_or_model_is_downloaded_to_where_it_would_be_mounted(
    kaggle_here: Served, upload: DatasetUpload, tmp_path: Path, kind: str, name: str
) -> None:
    kaggle = gateway(kaggle_here)
    ref = f"{kaggle_here.account}/{name}"
    folder = tmp_path / "workspace" / "input" / f"{kind}s" / ref
    if kind == "dataset":
        kaggle.datasets.upload(ref, upload)
    else:
        kaggle.models.upload(ref.removesuffix("/1"), upload)
    files, source = WorkspaceFiles(tmp_path / "workspace"), Source(kind, ref, folder)

    assert download_source(kaggle, source, files, tell=lambda _: None)
    assert not download_source(kaggle, source, files, tell=lambda _: None)

    there = {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert there == {"w.bin": 100_000, "folds/0/w.bin": 100_000}
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_quota_is_that_of_the_account(kaggle: Kaggle) -> None:
    quota = kaggle.kernels.quota()

    assert quota.tpu is not None
    assert quota.tpu.allowance.total_seconds() == 72_000


@pytest.mark.parametrize("fault", PASSING_FAULTS)
def test_a_fault_that_passes_is_not_noticed_by_a_read(kaggle_here: Served, kaggle: Kaggle, fault: str) -> None:
    kaggle_here.set_faults(f"{fault}x2")

    assert kaggle.kernels.quota().gpu is not None
    assert [name for name, _ in kaggle_here.site.faults.history] == [fault, fault]


@pytest.mark.parametrize("fault", PASSING_FAULTS)
def test_a_push_is_sent_once_under_every_fault(kaggle_here: Served, fault: str) -> None:
    kaggle_here.set_faults(f"{fault}@SaveKernel")
    push = kernel(kaggle_here.account)

    with pytest.raises(errors.KaggleError) as raised:
        gateway(kaggle_here).kernels.push(push)

    assert [struck for struck, _ in kaggle_here.site.faults.history] == [fault]
    kaggle_here.set_faults()
    found = gateway(kaggle_here).kernels.find(push.ref)
    was_done = fault in ("500-after", "drop-after", "truncate")
    assert (found.version if found else 0) == int(was_done)
    assert raised.value.outcome_unknown or not was_done


def test_a_push_that_is_never_answered_is_given_up(kaggle_here: Served) -> None:
    kaggle_here.set_faults("stall@SaveKernel")

    with pytest.raises(errors.UnreachableError) as raised:
        gateway(kaggle_here, read=0.3).kernels.push(kernel(kaggle_here.account))

    assert raised.value.outcome_unknown


@pytest.mark.parametrize(
    ("fault", "ask", "kind", "says"),
    [
        ("push-error", push_again, errors.SessionLimitError, None),
        ("no-quota", push_again, errors.RefusedError, "hours begin anew"),
        ("401@SaveKernel", push_again, errors.CredentialsError, "not accepted"),
        (
            "output-hostile",
            lambda kaggle, push: kaggle.kernels.output(push.ref, 1),
            errors.UnsafeAnswerError,
            "escaped",
        ),
        ("submit-403", submit, errors.SubmitForbiddenError, None),
        ("submit-limit", submit, errors.RefusedError, "count begins anew"),
        (
            "rules-not-accepted",
            lambda kaggle, _: kaggle.competitions.file_url("digits", "train.csv"),
            errors.RulesNotAcceptedError,
            "/competitions/digits/rules",
        ),
    ],
)
def test_what_is_refused_says_why(
    *,
    kaggle_here: Served,
    kaggle: Kaggle,
    ended: KernelPush,
    fault: str,
    ask: Callable[[Kaggle, KernelPush], Any],
    kind: type[errors.KaggleError],
    says: str | None,
) -> None:
    kaggle_here.set_faults(fault)

    with pytest.raises(kind, match=says) as raised:
        ask(kaggle, ended)

    assert not raised.value.outcome_unknown
    assert ended.ref not in [submission.description for submission in kaggle.competitions.submissions("digits")]


def test_a_push_that_lost_its_inputs_says_which(kaggle_here: Served, kaggle: Kaggle) -> None:
    train = finished(kaggle_here, {})
    kaggle_here.set_faults("invalid-sources")

    with pytest.raises(errors.SourcesRefusedError) as raised:
        kaggle.kernels.push(kernel(kaggle_here.account, kernel_sources=(train.ref,)))

    assert raised.value.sources["kernel"] == (train.ref,)
    assert raised.value.version == 1


def test_a_competition_that_is_not_there_is_a_source_that_is_refused(kaggle_here: Served, kaggle: Kaggle) -> None:
    with pytest.raises(errors.SourcesRefusedError, match="competition no-such-competition"):
        kaggle.kernels.push(kernel(kaggle_here.account, competition_sources=("no-such-competition",)))


def test_a_push_under_another_slug_says_where_it_went(kaggle_here: Served, kaggle: Kaggle) -> None:
    kaggle_here.set_faults("slug-moved")
    push = kernel(kaggle_here.account)

    pushed = kaggle.kernels.push(push)

    assert pushed.ref != push.ref
    assert kaggle.kernels.find(pushed.ref) is not None


@pytest.mark.parametrize("ask", ["find", "session_status", "output"])
def test_a_wedged_kernel_is_not_taken_for_one_that_is_not_there(kaggle_here: Served, kaggle: Kaggle, ask: str) -> None:
    kaggle_here.set_faults("wedged")
    push = kernel(kaggle_here.account)
    kaggle.kernels.push(push)

    with pytest.raises(errors.ForbiddenError):
        getattr(kaggle.kernels, ask)(push.ref, *([] if ask == "find" else [1]))


def test_half_of_an_output_file_is_refused(
    kaggle_here: Served, kaggle: Kaggle, ended: KernelPush, tmp_path: Path
) -> None:
    kaggle_here.set_faults("output-truncated")
    file = kaggle.kernels.output(ended.ref, 1).files[0]

    with pytest.raises(errors.UnsafeAnswerError, match="listed"):
        kaggle.files.fetch_output(file, tmp_path / "submission.csv")

    assert list(tmp_path.glob("sub*")) == []


def test_a_log_stream_that_breaks_is_followed_to_the_end(
    kaggle_here: Served, kaggle: Kaggle, ended: KernelPush
) -> None:
    kaggle_here.set_faults("log-stream-breaksx2", "dropx1")

    lines = [line.text for line in kaggle.kernels.log_lines(ended.ref)]

    assert lines == [f"{ended.ref} version 1 begins\n", f"{ended.ref} version 1 ends\n"]


def test_a_file_for_a_code_competition_is_refused_in_kaggles_words(kaggle: Kaggle, tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text("id,label\n")

    with pytest.raises(errors.RefusedError, match="only accepts Submissions from Notebooks") as raised:
        kaggle.competitions.submit_file("digits", path=tmp_path / "submission.csv", message="m")

    assert type(raised.value) is errors.RefusedError


def test_the_state_of_a_dataset_that_fails_is_known(kaggle_here: Served, kaggle: Kaggle, upload: DatasetUpload) -> None:
    kaggle_here.set_faults("dataset-fails")

    kaggle.datasets.upload(f"{kaggle_here.account}/weights-b", upload)

    assert kaggle.datasets.state(f"{kaggle_here.account}/weights-b") is DatasetState.FAILED


def test_a_version_that_is_not_ready_yet_is_the_newest_all_the_same(
    kaggle_here: Served, kaggle: Kaggle, upload: DatasetUpload
) -> None:
    ref = f"{kaggle_here.account}/weights-c"
    kaggle.datasets.upload(ref, upload)
    kaggle_here.set_faults("dataset-slow")

    assert kaggle.datasets.upload(ref, upload) == 2
    assert kaggle.datasets.version(ref) == 2
    assert kaggle.datasets.state(ref) is DatasetState.PREPARING


def test_another_token_is_refused(kaggle_here: Served) -> None:
    stranger = Kaggle(kaggle_here.address, AccessToken("somebody-elses-token", source="a test"))

    with pytest.raises(errors.CredentialsError, match="not accepted"):
        stranger.kernels.quota()


ODD_NAMES = (
    "a & b.csv",
    "50%.csv",
    "x%20y.csv",
    "c+d#e?f=1.csv",
    "it's [1] {2}.csv",
    "größe;,.csv",
    "folder & co/z (2).csv",
)


def test_files_of_any_name_are_fetched_from_an_output(kaggle_here: Served, kaggle: Kaggle, tmp_path: Path) -> None:
    push = finished(kaggle_here, {name: f"{name}\n" for name in ODD_NAMES})

    output = kaggle.kernels.output(push.ref, 1)
    for file in output.files:
        kaggle.files.fetch_output(file, tmp_path / file.name)

    assert {file.name for file in output.files} == set(ODD_NAMES)
    assert {name: (tmp_path / name).read_text() for name in ODD_NAMES} == {name: f"{name}\n" for name in ODD_NAMES}


def test_files_of_any_name_are_fetched_from_a_competition(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy")
    for name in ODD_NAMES:
        (toy / "data" / name).parent.mkdir(exist_ok=True)
        (toy / "data" / name).write_text(name)
    with served(tmp_path / "root", runner=ScriptedRunner(), competitions=[toy]) as running:
        kaggle = gateway(running)

        listed = {file.name: file.size for file in kaggle.competitions.list_files("toy-heights")}
        for name in ODD_NAMES:
            url = kaggle.competitions.file_url("toy-heights", name)
            list(kaggle.files.download(url, tmp_path / "fetched", size=listed[name]))
            assert (tmp_path / "fetched").read_text() == name
            (tmp_path / "fetched").unlink()
        list(kaggle.files.download(kaggle.competitions.archive_url("toy-heights"), tmp_path / "all.zip"))

    assert set(ODD_NAMES) <= set(zipfile.ZipFile(tmp_path / "all.zip").namelist())


def test_files_of_any_name_are_sent_to_datasets_and_models(kaggle_here: Served, kaggle: Kaggle, tmp_path: Path) -> None:
    for name in ODD_NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    upload = DatasetUpload("Odd names", {name: tmp_path / name for name in ODD_NAMES}, "notes")
    me = kaggle_here.account

    assert kaggle.datasets.upload(f"{me}/odd-names", upload) == 1
    assert kaggle.models.upload(f"{me}/odd-model/keras/main", upload) == 1

    folder = kaggle_here.local_kaggle.datasets.dataset_folder(f"{me}/odd-names", account=me)
    assert folder is not None
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == {name: name for name in ODD_NAMES}
