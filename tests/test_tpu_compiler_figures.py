"""The figures of the TPU's compiler: what is read out of its programs and messages, kept, and made sentences of."""

from pathlib import Path

import pytest

from generator.errors import TandemError
from generator.text import JsonObject
from generator.tpu_compiler.compilation import CompileReport, ReportBuilder, ResultCache, find_topology
from generator.tpu_compiler.worker.compiler import Fit, largest_batch, program_of_length, read_program

# Lines of what libtpu 0.0.42.1 says of a step on v5e:2x4, shortened.
PROGRAM = """HloModule jit_train_step, is_scheduled=true

%fused_computation (param_0: f32[64,10]) -> f32[64,10] {
  ROOT %add.1 = f32[64,10]{1,0:T(8,128)} add(%a, %b), backend_config={"estimated_cycles":"999"}
}

ENTRY %main.42 (p0: f32[64,128], p1: f32[16,10]) -> (f32[64,10]) {
  %fusion.1 = bf16[16,128]{1,0:T(8,128)(2,1)} fusion(%p0), backend_config={"estimated_cycles":"1200"}
  %fusion.2 = f32[16,10]{1,0:T(8,128)} fusion(%fusion.1), backend_config={"estimated_cycles":"300"}
  %copy.1 = f32[4,4]{1,0:T(8,128)S(1)} copy(%fusion.2), backend_config={"estimated_cycles":"0"}
  %all-reduce.1 = f32[64,10]{1,0:T(8,128)} all-reduce(%fusion.2), replica_groups={}, to_apply=%add
  %start = (f32[8]{0:T(128)}, f32[8]{0:T(128)}) all-reduce-start(%p1), to_apply=%add
  %done = f32[1]{0:T(128)S(1)} all-reduce-done(%start)
  %xor.1 = u32[1]{0:T(128)S(6)} xor(%done, %done)
  %rate.1 = f32[]{:T(128)} multiply(%done, %done)
}
"""
KEY = "ab" * 32


def test_cycles_are_those_of_the_whole_program_and_of_no_part_of_it_twice() -> None:
    assert read_program(PROGRAM).cycles == 1500


def test_both_forms_of_an_operation_between_cores_are_counted_once() -> None:
    assert read_program(PROGRAM).collectives == {"all-reduce": 2}


def test_padding_compares_tiles_with_results_in_hbm_alone() -> None:
    logical = 16 * 128 * 2 + 16 * 10 * 4 + 64 * 10 * 4 + 4
    tiled = 16 * 128 * 2 + 16 * 128 * 4 + 64 * 128 * 4 + 128 * 4

    assert read_program(PROGRAM).padding == round(tiled / logical, 3)


def test_a_program_of_the_cpu_has_neither_tiles_nor_estimates() -> None:
    facts = read_program("ENTRY %main () -> f32[8,8] {\n  ROOT %dot.1 = f32[8,8]{1,0} dot(%a, %b)\n}\n")

    assert (facts.padding, facts.cycles, facts.collectives) == (None, None, {})


class Memory:
    """A compiler whose steps take `fixed` bytes and `each` an example, and say so also where they do not fit."""

    def __init__(self, *, fixed: int, each: int, limit: int, multiple: int = 1) -> None:
        self.fixed, self.each, self.limit, self.multiple = fixed, each, limit, multiple
        self.compiled: list[int] = []

    def fit(self, batch: int) -> Fit:
        self.compiled.append(batch)
        memory = self.fixed + self.each * -(-batch // self.multiple) * self.multiple
        return Fit(batch, memory, does_fit=memory <= self.limit)

    def largest(self, batch: int) -> Fit | None:
        known = self.fit(batch)
        self.compiled.clear()
        return largest_batch(known, fixed_memory=self.fixed, limit=self.limit, compile_batch=self.fit)[0]


@pytest.mark.parametrize("batch", [8, 128, 1024])
def test_the_largest_batch_is_found_within_a_few_per_cent_by_two_compilations(batch: int) -> None:
    memory = Memory(fixed=200, each=30, limit=16_000)  # 526 would fit

    found = memory.largest(batch)

    assert found is not None
    assert found.batch % 8 == 0
    assert 500 <= found.batch <= 526
    assert len(memory.compiled) <= 2


def test_batches_that_are_padded_to_one_length_do_not_mislead_the_search() -> None:
    memory = Memory(fixed=1, each=163, limit=157_500, multiple=128)  # 960 take what 1,024 do, and 896 would fit

    found = memory.largest(1024)

    assert found is not None
    assert 850 <= found.batch <= 896


def test_a_model_that_leaves_no_room_for_eight_examples_fits_with_none() -> None:
    memory = Memory(fixed=900, each=50, limit=1000)

    assert memory.largest(64) is None
    assert memory.compiled == [8]


def test_a_compiler_that_does_not_say_how_much_it_lacks_is_asked_by_halves() -> None:
    sizes: list[int] = []

    def compiled(batch: int) -> Fit:
        sizes.append(batch)
        return Fit(batch, batch * 10 if batch <= 100 else None, does_fit=batch <= 100)

    found, compilations = largest_batch(
        Fit(512, None, does_fit=False), fixed_memory=0, limit=1000, compile_batch=compiled
    )

    assert found is not None
    assert found.batch == 96
    assert sizes[:3] == [256, 128, 64]
    assert compilations == 4


def test_a_batch_that_is_refused_for_another_reason_is_halved() -> None:
    sizes: list[int] = []

    def compiled(batch: int) -> Fit:
        sizes.append(batch)
        return Fit(batch, None, does_fit=batch < 256)

    found, _ = largest_batch(Fit(1024, 2000, does_fit=False), fixed_memory=1, limit=1000, compile_batch=compiled)

    assert sizes == [496, 248, 368, 304]
    assert found == Fit(248, None, does_fit=True)


def step_program(batch: int, mean: str) -> str:
    """A program in StableHLO, with lengths that are the batch's, that go with it, and that do not."""
    return f"""module @step {{
  func.func @main(%arg0: tensor<{batch}x64xbf16>, %arg1: tensor<64x128xf32>) -> tensor<{2 * batch + 1}x64xf32> {{
    %cst = stablehlo.constant dense<{mean}> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.slice %arg0 [{batch // 2}:{batch}, 0:64] : (tensor<{batch}x64xbf16>) -> tensor<{batch // 2}x64xbf16>
    %1 = stablehlo.reshape %0 : (tensor<{batch // 2}x64xbf16>) -> tensor<{batch * 32}xbf16>
    %2 = stablehlo.iota dim = 0 {{mhlo.sharding = "{{devices=[8,1]0,1,2,3,4,5,6,7}}"}} : tensor<{batch}xui64>
"""


def test_a_program_of_any_batch_follows_from_those_of_two() -> None:
    programs = {128: step_program(128, "7.812500e-03"), 64: step_program(64, "1.562500e-02")}

    for batch in (8, 64, 128, 1024, 1016):
        written = program_of_length(programs, batch)

        assert written.replace("1.562500e-02", "1.0") == step_program(batch, "1.0")


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        (
            {16: "add tensor<16x8xf32>", 8: "add tensor<8x8xf32>\nadd tensor<8x8xf32>"},
            "with a smaller one it computes other operations",
        ),
        ({16: "dense<[1, 2]>"}, "it is not copied from the host"),
        ({16: "tensor<3xf32>", 12: "tensor<2xf32>"}, "a length in it, 2, does not grow in step"),
        ({16: "tensor<4xf32>", 12: "tensor<44xf32>"}, "a length in it, 44, does not grow in step"),
    ],
)
def test_programs_of_two_batches_that_lie_on_no_line_tell_of_no_other(programs: dict[int, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        program_of_length(programs, 42)


def test_figures_are_found_again_by_their_program(tmp_path: Path) -> None:
    ResultCache(tmp_path).put(KEY, {"flops": 2.0})

    assert ResultCache(tmp_path).get(KEY) == {"flops": 2.0}
    assert [file.name for file in tmp_path.iterdir()] == [f"{KEY}.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 60_000])
def test_a_damaged_entry_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{KEY}.json").write_bytes(content)

    assert ResultCache(tmp_path).get(KEY) is None


def test_a_key_cannot_lead_out_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"token": "x"}')
    cache = ResultCache(tmp_path / "cache")
    cache.put(KEY, {})
    cache.put("../evil", {"flops": 1.0})

    assert cache.get("../secret") is None
    assert not (tmp_path / "evil.json").exists()


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ResultCache(tmp_path / "file")
    cache.put(KEY, {})

    assert cache.get(KEY) is None


def told(*events: dict[str, object]) -> CompileReport:
    topology = find_topology("v5e:2x4")
    heard = ReportBuilder(topology, CompileReport(topology.name, "libtpu"))
    for event in events:
        heard.add(JsonObject(event))
    heard.finish()
    return heard.report


AT = {"step": "train_step", "what": "train", "cell": "train", "line": 3}


def test_a_batch_that_does_not_fit_is_reported_with_the_largest_that_does() -> None:
    found = {"batch_per_core": 408, "peak_memory": 15 << 30, "compilations": 1}
    (problem,) = told({"memory": 36 << 30, "batch_per_core": 1024, **AT}, {"largest": found}).problems

    assert problem.is_error
    assert (problem.cell, problem.line) == ("train", 3)
    assert "1,024 a core does not fit: the step needs 36.0 GiB of a core's 15.8 GiB" in problem.sentence
    assert problem.remedy == "Use at most 408 examples per core and step."


def test_what_a_process_says_is_read_as_anybodys_text() -> None:
    event = {"refused": "no\x1b[2Jsuch op\nFile x", **AT, "cell": "a\x07", "line": "3"}
    (problem,) = told(event, {"figures": {"flops": "many", "collectives": {"x" * 900: 2}}, **AT}).problems

    assert "\x1b" not in problem.sentence
    assert problem.cell == "a\\x07"
    assert problem.line is None


@pytest.mark.parametrize(("moved", "kinds"), [(9e9, ["padding"]), (9e6, [])])
def test_a_step_tells_what_it_takes_of_its_memory_and_where_padding_costs_time(moved: float, kinds: list[str]) -> None:
    figures = {"flops": 2e9, "bytes_moved": moved, "peak_memory": 1 << 30, "padding": 2.4}
    heard = told({"figures": figures, "cores": 8, "batch_per_core": 13, **AT})

    assert (heard.steps[0].peak_memory, heard.steps[0].memory_limit) == (1 << 30, 16_128 << 20)
    assert heard.steps[0].cores == 8
    assert [problem.kind for problem in heard.problems] == kinds
    assert all("13 a core is no multiple of 8" in problem.sentence for problem in heard.problems)


def test_what_pytorch_leaves_to_the_host_and_to_one_core_has_its_own_remedies() -> None:
    on_host, one_core = told(
        {"framework": "torch"},
        {"on_host": "aten::nonzero", "step": "train", "cell": "train", "line": 3},
        {"one_core": True, "step": "train", "cell": "train", "line": 4},
    ).problems
    assert (on_host.kind, on_host.cell, on_host.line) == ("on-host", "train", 3)
    assert "aten::nonzero" in on_host.sentence
    assert "use_spmd" in one_core.remedy


def test_an_unknown_topology_is_named_with_one_that_is_near() -> None:
    with pytest.raises(TandemError, match=r'no topology "v5e:2x5" to compile for\. Did you mean "v5e:2x4"'):
        find_topology("v5e:2x5")
