"""Where a notebook writes, as far as its code tells without being executed."""

import ast
from dataclasses import dataclass
from functools import lru_cache

from generator.check.code import NotebookCode

_METHODS = {
    *("write_text", "write_bytes", "mkdir", "touch"),  # of a path
    *("to_csv", "to_parquet", "to_json", "to_pickle", "to_feather", "to_excel", "write_csv", "write_parquet"),
    *("save_weights", "save_model", "save_pretrained", "savefig", "extractall", "sink_csv", "sink_parquet"),
}
_ON_PATHS = {"write_text", "write_bytes", "mkdir", "touch"}
_FIRST = {
    *("os.makedirs", "os.mkdir", "numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt"),
    "matplotlib.pyplot.savefig",
    *("keras.callbacks.ModelCheckpoint", "tensorflow.keras.callbacks.ModelCheckpoint"),
    *("keras.callbacks.CSVLogger", "tensorflow.keras.callbacks.CSVLogger", "pandas.ExcelWriter"),
}
_SECOND = {
    *("torch.save", "joblib.dump", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree"),
    *("os.rename", "os.replace", "cv2.imwrite", "safetensors.torch.save_file", "safetensors.numpy.save_file"),
    *("keras.models.save_model", "tensorflow.keras.models.save_model", "keras.saving.save_model"),
    *("torch_xla.core.xla_model.save", "shutil.unpack_archive", "soundfile.write", "imageio.imwrite"),
}
_KEYWORDS = ("path_or_buf", "path", "fname", "filename", "filepath", "file", "dst", "extract_dir", "save_directory")
_SHORTEST_CALL = 2


@dataclass(frozen=True)
class Write:
    """A call that writes: the expression of the path, and its text (None where only a run would tell)."""

    node: ast.Call
    target: ast.expr
    path: str | None


@lru_cache(maxsize=2)  # several rules ask for those of the same notebook
def writes(code: NotebookCode) -> tuple[Write, ...]:
    """Every call of a notebook that is known to write a file or to make a folder."""
    targets = ((call.node, _target(code, call.node, call.name)) for call in code.calls)
    return tuple(Write(node, target, code.text(target)) for node, target in targets if target is not None)


def _target(code: NotebookCode, node: ast.Call, name: str) -> ast.expr | None:
    method = name.rpartition(".")[2]
    named = next((keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS), None)
    found: ast.expr | None = None
    if name == "open" or method == "open":
        found = _opened(code, node, is_method=name != "open")
    elif name in _SECOND:
        found = node.args[1] if len(node.args) >= _SHORTEST_CALL else named
    elif name in _FIRST or method in _METHODS - _ON_PATHS or _is_saving(node, method):
        found = node.args[0] if node.args else named
    elif method in _ON_PATHS and isinstance(node.func, ast.Attribute):
        found = node.func.value
    return found


def _is_saving(node: ast.Call, method: str) -> bool:
    """True for `model.save("x")` and `model.export("x")`; `plt.show` and the like have no path."""
    return method in ("save", "export") and bool(node.args) and isinstance(node.func, ast.Attribute)


def _opened(code: NotebookCode, node: ast.Call, *, is_method: bool) -> ast.expr | None:
    """The path of an `open` that is for writing."""
    position = 0 if is_method else 1
    mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), None)
    if mode is None and len(node.args) > position:
        mode = node.args[position]
    if not set("wax+") & set((code.text(mode) or "")[:3]):
        return None
    if is_method:
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    return node.args[0] if node.args else None
