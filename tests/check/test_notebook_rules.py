"""Faults of notebooks in the forms that people write, each beside sound code that is close to it."""

from pathlib import Path
from typing import Any

import pytest

from generator.check.cell_text import read_cell
from generator.check.checking import check_kernels
from generator.check.code import NotebookCode
from generator.check.source import KernelSource
from generator.text import JsonObject

T4 = {"machine_shape": "NvidiaTeslaT4", "enable_gpu": True}
DATA = "/kaggle/input/competitions/titanic"


def has(rule: str, *sources: str, folder: Path = Path(), **metadata: Any) -> bool:
    """True if a rule finds something in cells."""
    cells = tuple(read_cell(f"cell {number}", source) for number, source in enumerate(sources, start=1))
    kernel = KernelSource(NotebookCode(folder / "notebook.ipynb", cells), metadata=JsonObject(metadata))
    return rule in {finding.rule for finding in check_kernels([kernel])}


DATASET = """import tensorflow as tf
def get_data(files, training=True):
    ds = tf.data.TFRecordDataset(files)
    if training:
        ds = ds.shuffle(9).repeat()
    return ds.batch(8).prefetch(2)
class Data:
    def rows(self, again):
        ds = tf.data.Dataset.range(9)
        if again:
            ds = ds.repeat(-1)
        return ds.batch(2)
data = Data()
model = tf.keras.Sequential()
"""


@pytest.mark.parametrize(
    ("fit", "is_found"),
    [
        ("model.fit(get_data(['a']), epochs=3)", True),
        ("model.fit(get_data(['a'], training=False), epochs=3)", False),
        ("model.fit(get_data(['a']).take(9), epochs=3)", False),
        ("model.fit(data.rows(True), epochs=3)", True),
        ("model.fit(Data().rows(again=True), epochs=3)", True),
        ("model.fit(data.rows(False), epochs=3)", False),
        ("model.fit(other.rows(True), epochs=3)", False),
    ],
)
def test_a_dataset_that_a_function_or_a_method_repeats_has_no_end(fit: str, *, is_found: bool) -> None:
    assert has("N081", DATASET, fit) == is_found


@pytest.mark.parametrize(
    ("loop", "is_found"),
    [
        (
            "while True:\n    try:\n        requests.get(url)\n    except OSError:\n        pass\n    time.sleep(5)",
            True,
        ),
        ("while True:\n    settings.get('x')\n    time.sleep(5)", True),
        ("running = True\nwhile running:\n    time.sleep(5)", True),
        ("done = False\nwhile not done:\n    time.sleep(5)", True),
        ("while True:\n    page = requests.get(url).json()\n    if not page:\n        break", False),
        ("while True:\n    job = jobs.get()\n    print(job)", False),
        ("import itertools\nfor step in itertools.count():\n    print(step)", True),
        ("import itertools\nfor step in itertools.count():\n    if step > 9:\n        break", False),
        ("from itertools import cycle\nfor a in enumerate(cycle([1, 2])):\n    print(a)", True),
        ("from itertools import cycle\nfor a, b in zip(rows, cycle([1, 2])):\n    print(a, b)", False),
        ("import tensorflow as tf\nfor x in tf.data.Dataset.range(3).repeat():\n    print(x)", True),
        ("import tensorflow as tf\nfor x in tf.data.Dataset.range(3).repeat().take(9):\n    print(x)", False),
        ("from itertools import count\ndef ids():\n    for i in count():\n        yield i", False),
        ("import http.server\nhttp.server.HTTPServer(('', 8000), H).serve_forever()", True),
        ("import threading\nthreading.Thread(target=server.serve_forever, daemon=True).start()", False),
        ("while True:\n    job = jobs.get(timeout=9)\n    print(job)", False),
        ("running = True\nwhile running:\n    running = print()", False),
        ("running = True\ndef stop():\n    global running\n    running = False\nwhile running:\n    stop()", False),
        ("running = True\nglobals()['running'] = False\nwhile running:\n    time.sleep(5)", False),
        ("running = True\nexec('running = False')\nwhile running:\n    time.sleep(5)", False),
        ("def wait(running):\n    while running:\n        time.sleep(5)\nwait(True)", False),
        ("import threading\ndef run():\n    url.serve_forever()\nthreading.Thread(target=run).start()", False),
    ],
)
def test_a_loop_that_nothing_ends_is_found(loop: str, *, is_found: bool) -> None:
    assert has("N080", f"import requests, time\nurl, settings, jobs = print(), print(), print()\n{loop}") == is_found


@pytest.mark.parametrize(
    ("generator", "fit", "is_found"),
    [
        ("while True:\n        yield 1, 2", "model.fit(rows(), epochs=3)", True),
        ("while True:\n        yield 1, 2", "batches = rows()\nmodel.fit(batches, epochs=3)", True),
        ("while True:\n        yield 1, 2", "model.fit(rows(), steps_per_epoch=9)", False),
        ("while True:\n        yield 1, 2\n        if once:\n            break", "model.fit(rows())", False),
        ("while True:\n        yield next(source)", "model.predict(rows())", False),
        ("for each in range(9):\n        yield each, 2", "model.fit(rows())", False),
    ],
)
def test_a_generator_that_yields_without_end_is_a_dataset_without_end(
    generator: str, fit: str, *, is_found: bool
) -> None:
    code = f"import keras\nonce, source, model = print(), print(), keras.Sequential()\ndef rows():\n    {generator}"

    assert has("N081", code, fit) == is_found


@pytest.mark.parametrize(
    ("settings", "is_found"),
    [
        ("{'device': 'cuda'}", True),
        ("{'device': 'cpu'}", False),
        ("{'device': 'cuda' if torch.cuda.is_available() else 'cpu'}", False),
    ],
)
@pytest.mark.parametrize(
    "train",
    [
        "xgboost.train(settings, rows)",
        "xgboost.train(params=settings, dtrain=rows)",
        "xgboost.XGBRegressor(**settings)",
    ],
)
def test_settings_that_ask_for_a_gpu_need_one(settings: str, train: str, *, is_found: bool) -> None:
    code = f"import torch, xgboost\nrows = print()\nsettings = {settings}\n{train}"

    assert has("N091", code) == is_found
    assert not has("N091", code, **T4)


@pytest.mark.parametrize(("place", "is_found"), [("cuda", True), ("cuda:0", True), ("auto", False), ("cpu", False)])
def test_a_model_that_is_put_on_a_gpu_needs_one(place: str, *, is_found: bool) -> None:
    load = f"from transformers import AutoModel\nmodel = AutoModel.from_pretrained('m', device_map='{place}')"

    assert has("N091", load) == is_found
    assert has("N091", load, machine_shape="TpuV5E8") == is_found
    assert not has("N091", load, **T4)


@pytest.mark.parametrize(
    ("strategy", "fit", "is_found"),
    [
        ("", "model.fit([1], [1], epochs=9)", True),
        ("", "model.fit([1], [1], epochs=1)", False),
        ("two = tf.distribute.MirroredStrategy()\n", "model.fit([1], [1], epochs=9)", False),
        ("keras.distribution.set_distribution(two)\n", "model.fit([1], [1], epochs=9)", False),
    ],
)
def test_keras_on_one_of_two_gpus_is_found(strategy: str, fit: str, *, is_found: bool) -> None:
    code = f"import keras\nimport tensorflow as tf\n{strategy}model = keras.Sequential()\n{fit}"

    assert has("N094", code, **T4) == is_found
    assert not has("N094", code, enable_gpu=True, machine_shape="NvidiaTeslaP100")


@pytest.mark.parametrize(
    ("save", "is_found"),
    [
        ("keras.models.save_model(model, '/kaggle/working/model')", True),
        ("keras.saving.save_model(model, filepath='model.pb')", True),
        ("keras.models.save_model(model, '/kaggle/working/model.keras')", False),
        ("booster.save_model('model.bin')", False),
    ],
)
def test_keras_refuses_a_folder_as_a_name(save: str, *, is_found: bool) -> None:
    assert has("N033", f"import keras\nmodel, booster = keras.Sequential(), print()\n{save}") == is_found


TWO_MODELS = """import keras
adam = keras.optimizers.Adam(1e-3)
a = keras.Sequential([keras.layers.Dense(1)])
a.compile(adam, "mse")
a.fit([1], [1])
"""


@pytest.mark.parametrize(
    ("second", "is_found"),
    [
        ("b = keras.Sequential([keras.layers.Dense(1)])\nb.compile(adam, 'mse')\nb.fit([1], [1])", True),
        ("a = keras.Sequential([keras.layers.Dense(1)])\na.compile(adam, 'mse')\na.fit([1], [1])", True),
        ("b = keras.Sequential([keras.layers.Dense(1)])\nb.compile(adam, 'mse')\nb.evaluate([1], [1])", False),
        ("b = keras.Sequential([keras.layers.Dense(1)])\nb.compile('adam', 'mse')\nb.fit([1], [1])", False),
        ("a.compile(adam, 'mae')\na.fit([1], [1])", False),
        ("b = keras.Sequential(a.layers)\nb.compile(adam, 'mse')\nb.fit([1], [1])", False),
    ],
)
def test_an_optimizer_of_two_models_is_found(second: str, *, is_found: bool) -> None:
    assert has("N036", TWO_MODELS, second) == is_found


FILES = "files = ['/kaggle/input/lgbm/submission.csv', '/kaggle/input/notebooks/ada/nn/submission.csv']"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        (f"{FILES}\ntables = [pd.read_csv(f) for f in files]", True),
        (f"{FILES}\nfor f, weight in zip(files, [0.4, 0.6]):\n    print(pd.read_csv(f), weight)", True),
        ("for f in glob.glob('/kaggle/input/notebooks/*/*/submission.csv'):\n    pd.read_csv(f)", True),
        (f"{FILES}\ntables = [pd.read_csv(f) for f in ['a.csv']]\nprint(files)", False),
        (f"for f in ['{DATA}/sample_submission.csv', '{DATA}/test.csv']:\n    pd.read_csv(f)", False),
    ],
)
def test_submissions_that_a_loop_reads_are_found(code: str, *, is_found: bool) -> None:
    assert has("N065", f"import glob\nimport pandas as pd\n{code}", enable_internet=False) == is_found


def test_a_script_that_a_magic_runs_and_a_package_are_not_pushed(tmp_path: Path) -> None:
    (tmp_path / "setup_data.py").write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "__init__.py").write_text("")
    cell = read_cell("a", "import src.data")
    (found,) = [
        each
        for each in check_kernels([KernelSource(NotebookCode(tmp_path / "n.ipynb", (cell,)), metadata=JsonObject({}))])
        if each.rule == "N027"
    ]

    assert has("N027", "%run setup_data.py", folder=tmp_path)
    assert has("N027", "%run -i ./setup_data.py --fast", folder=tmp_path)
    assert not has("N027", "%run elsewhere.py", "import src", folder=tmp_path)
    assert found.message.startswith("A push does not include src/")
    assert "sys.path.append" in found.remedy


@pytest.mark.parametrize(
    ("head", "is_found"),
    [
        ("y = keras.layers.Dense(1)(x)\ny = keras.layers.Softmax()(y)", True),
        ("y = keras.layers.Activation('softmax')(keras.layers.Dense(1)(x))", True),
        ("y = keras.Sequential([keras.layers.Dense(1), keras.layers.Activation('softmax')])", True),
        ("y = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Softmax(dim=-1))", True),
        ("y = keras.layers.Dense(2)(x)\ny = keras.layers.Softmax()(y)", False),
        ("y = keras.layers.Dense(1)(x)\ny = keras.layers.Softmax(axis=1)(y)", False),
        ("y = keras.layers.Dense(1)(x)\ny = keras.layers.Flatten()(y)\ny = keras.layers.Softmax()(y)", False),
        ("y = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Softmax(dim=1))", False),
    ],
)
def test_a_softmax_over_one_unit_is_found_and_one_over_the_steps_is_not(head: str, *, is_found: bool) -> None:
    assert has("N037", f"import keras, torch\nx = keras.Input((4,))\n{head}") == is_found


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        ("ds = ds.shuffle(9)\ntrain = ds.take(5)\nvalidation = ds.skip(5)", True),
        ("ds = ds.shuffle(9)\nds = ds.batch(2)\ntrain, validation = ds.take(5), ds.skip(5)", True),
        ("ds = ds.shuffle(9, reshuffle_each_iteration=False)\ntrain, validation = ds.take(5), ds.skip(5)", False),
        ("train, validation = ds.take(5), ds.skip(5)\nds = ds.shuffle(9)", False),
        ("train = ds.take(5).shuffle(9)\nvalidation = ds.skip(5)", False),
    ],
)
def test_a_shuffle_under_the_same_name_before_a_split_is_found(lines: str, *, is_found: bool) -> None:
    assert has("N038", f"import tensorflow as tf\nds = tf.data.Dataset.range(9)\n{lines}") == is_found
    assert has("N038", "import tensorflow as tf\nds = tf.data.Dataset.range(9)", *lines.split("\n")) == is_found


@pytest.mark.parametrize(
    ("search", "is_found"),
    [
        ("glob.glob('/kaggle/input/*/train.csv')", True),
        ("list(Path('../input').glob('*/train.csv'))", True),
        ("glob.glob('/kaggle/input/*/train/*.png')", True),
        ("glob.glob('/kaggle/input/*/*/train.csv')", False),
        ("glob.glob('/kaggle/input/*/train.csv') or glob.glob('/kaggle/input/*/*/train.csv')", False),
        ("glob.glob('/kaggle/input/*/titanic/train.csv')", False),
        ("glob.glob('/kaggle/input/*/*')", False),
    ],
)
def test_a_search_that_is_not_deep_enough_for_the_mounts_is_found(search: str, *, is_found: bool) -> None:
    code = f"import glob\nfrom pathlib import Path\nprint({search})"

    assert has("N040", code, competition_sources=["titanic"]) == is_found


@pytest.mark.parametrize(
    ("cells", "is_found"),
    [
        ([f"%%bash\nset -e\ncd {DATA}\nunzip -q train.zip"], True),
        ([f"!cd {DATA} && mkdir out"], True),
        ([f"%cd {DATA}", "!tar xzf train.tar.gz"], True),
        ([f"%cd {DATA}", "!tar --exclude=x -czf /kaggle/working/a.tgz .", "!tar -xf a.tar -C /tmp"], False),
        ([f"!cd {DATA} && tar -xOf train.tar a.csv > /kaggle/working/a.csv"], False),
        ([f"%%bash\ncd {DATA}\nunzip -q train.zip -d /kaggle/working"], False),
        ([f"%%bash\ncd {DATA}\nunzip -l train.zip\ncd /kaggle/working\nmkdir out"], False),
        ([f"%%bash\ncd {DATA}\nls", "%%bash\nmkdir out", "!mkdir out", "open('a.txt', 'w')"], False),
        ([f"!cd {DATA}", "open('a.txt', 'w')"], False),
        ([f"!tar -xf a.tar -C {DATA}/more"], True),
        ([f"%%bash\nif [ -d {DATA} ]; then\n  ls -d {DATA}/*\nfi\ntar czf a.tgz -C {DATA} ."], False),
    ],
)
def test_a_shell_that_writes_where_it_is_below_the_inputs_is_found(cells: list[str], *, is_found: bool) -> None:
    assert has("N043", *cells) == is_found


BOOSTING = (
    "import catboost as cb\nimport lightgbm as lgb\nimport xgboost as xgb\nfrom sklearn.base import clone\nX = y = [1]"
)


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("m = lgb.LGBMClassifier()\nm.fit(X, y, eval_set=[(X, y)], early_stopping_rounds=9)", "N025"),
        ("lgb.LGBMRegressor(n_estimators=9).fit(X, y, verbose=False)", "N025"),
        ("m = lgb.LGBMClassifier()\nm.fit(X, y, eval_metric='auc', callbacks=[lgb.early_stopping(9)])", ""),
        ("lgb.train({}, X, verbose_eval=9)", "N025"),
        ("xgb.train({}, X, early_stopping_rounds=9, verbose_eval=9)", ""),
        ("m = xgb.XGBRegressor()\nm.fit(X, y, eval_metric='rmse', verbose=9)", "N025"),
        ("m = xgb.XGBRegressor(early_stopping_rounds=9, eval_metric='rmse')\nm.fit(X, y, verbose=9)", ""),
        ("m = cb.CatBoostClassifier()\nm.fit(X, y, early_stopping_rounds=9, verbose=9)", ""),
        ("m = lgb.LGBMClassifier()\nm = cb.CatBoostClassifier()\nm.fit(X, y, early_stopping_rounds=9)", ""),
        ("def build():\n    return xgb.XGBClassifier()\nclone(build()).fit(X, y, early_stopping_rounds=9)", "N025"),
        ("def run(m):\n    m.fit(X, y, early_stopping_rounds=9)\nrun(cb.CatBoostRegressor())", ""),
        ("def run(m):\n    m.fit(X, y, early_stopping_rounds=9)\nrun(lgb.LGBMRegressor())", "N025"),
        (
            ("def run(m):\n    m.fit(X, y, early_stopping_rounds=9)\nfor m in [lgb.LGBMModel, cb.CatBoost]:\n"
            "    run(m())"),
            "",
        ),
        (
            "def run(m):\n    m.fit(X, y, verbose=9)\nrun(lgb.LGBMRegressor())\nrun(cb.CatBoostRegressor())",
            "N026",
        ),
        (("class M:\n    def __init__(self):\n        self.m = lgb.LGBMRegressor()\n    def fit(self):\n"
         "        self.m.fit(X, y, verbose=9)\nM().fit()"), "N025"),
        ("class M(lgb.LGBMRegressor):\n    def fit(self, X, verbose=0):\n        pass\nM().fit(X, verbose=9)", ""),
        ("from sklearn.preprocessing import OneHotEncoder\nOneHotEncoder().get_feature_names()", "N025"),
        ("from sklearn.preprocessing import OneHotEncoder\nOneHotEncoder().get_feature_names_out()", ""),
        ("from datasets import load_metric", "N026"),
        ("settings = dict(early_stopping_rounds=9)\nm = lgb.LGBMRegressor()\nm.fit(X, y, **settings)", "N026"),
        ("!pip install lightgbm==3.3.5\nm = lgb.LGBMRegressor()\nm.fit(X, y, verbose=9)", ""),
        ("try:\n    lgb.LGBMRegressor().fit(X, y, verbose=9)\nexcept TypeError:\n    pass", ""),
    ],
)  # fmt: skip
def test_an_argument_of_fit_is_refused_by_the_class_that_lost_it(code: str, rule: str) -> None:
    assert rule_of_removed(f"{BOOSTING}\n{code}") == rule


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("A.RandomResizedCrop(224, 224, scale=(0.8, 1.0))", "N025"),
        ("A.RandomResizedCrop(height=CFG.size, width=CFG.size)", "N025"),
        ("A.RandomResizedCrop(CFG.size, CFG.size)", "N025"),
        ("A.RandomResizedCrop((224, 224), (0.8, 1.0))", ""),
        ("A.RandomResizedCrop(SIZE, SCALE)", ""),
        ("A.RandomResizedCrop(size=(224, 224), scale=(0.8, 1.0))", ""),
        ("A.RandomSizedCrop((200, 400), 256, 256)", "N025"),
        ("A.RandomSizedCrop((200, 400), (256, 256))", ""),
        ("A.RandomCrop(224, 224)", ""),
        ("A.Resize(height=224, width=224)", ""),
        ("A.Cutout(num_holes=8, p=0.5)", "N025"),
        ("A.IAASharpen()", "N025"),
        ("A.CoarseDropout(max_holes=8, max_height=16)", "N026"),
        ("A.CoarseDropout(num_holes_range=(1, 8))", ""),
        ("A.GaussNoise(var_limit=(10, 50))", "N026"),
        ("A.ShiftScaleRotate(shift_limit=0.1, border_mode=0, value=0)", ""),
        ("A.ShiftScaleRotate(shift_limit=0.1, border_mode=0, value=(255, 255, 255))", "N026"),
        ("A.ImageCompression(quality_lower=60)", "N026"),
        ("!pip install albumentations==1.3.1\nA.Cutout()", ""),
        ("if A.__version__ < '2':\n    A.RandomResizedCrop(224, 224)", ""),
    ],
)
def test_arguments_of_albumentations_are_errors_where_they_raise(code: str, rule: str) -> None:
    head = "import albumentations as A\nclass CFG:\n    size = len('x')\nSIZE, SCALE = print(), print()"

    assert rule_of_removed(f"{head}\n{code}") == rule


def rule_of_removed(code: str) -> str:
    found = [rule for rule in ("N025", "N026") if has(rule, code, **T4)]
    return "".join(found)


@pytest.mark.parametrize(
    ("cell", "is_found"),
    [
        ("!streamlit run app.py", True),
        ("!streamlit run app.py & npx localtunnel --port 8501", True),
        ("!streamlit run app.py &>/dev/null &", False),
        ("!nohup flask run --port 80 &", False),
        ("!python -m http.server 8000", True),
        ("!timeout 60 tensorboard --logdir logs", False),
        ("!tensorboard --logdir logs", True),
        ("%load_ext tensorboard\n%tensorboard --logdir logs", False),
        ("!jupyter nbconvert --to html notebook.ipynb\n!streamlit --version", False),
        ("%%bash\ncd /tmp\njupyter lab --no-browser", True),
        ("%%bash --bg\ngradio app.py", False),
        ("%%writefile app.py\nfrom flask import Flask\nFlask('a').run()", False),
        ("import subprocess\nsubprocess.Popen(['ollama', 'serve'])", False),
        ("import subprocess\nsubprocess.run(['ollama', 'serve'])", True),
        ("import os\nos.system('uvicorn app:app')", True),
        ("get_ipython().system_raw('tensorboard --logdir logs &')", False),
        ("from flask import Flask\napp = Flask('a')\nif __name__ == '__main__':\n    app.run()", True),
        ("from flask import Flask\napp = Flask('a')\nDEMO = len('x') > 3\nif DEMO:\n    app.run()", False),
        (
            (
                "import threading\nfrom flask import Flask\napp = Flask('a')\ndef run():\n    app.run()\n"
                "threading.Thread(target=run, daemon=True).start()"
            ),
            False,
        ),
        ("import flask, subprocess\nsubprocess.run(['ls'])", False),
        ("import gradio as gr\ngr.Interface(len, 'text', 'text').launch(share=True)", False),
        ("import gradio as gr\ngr.Interface(len, 'text', 'text').launch(debug=True)", True),
    ],
)
def test_a_server_that_the_notebook_waits_for_is_found(cell: str, *, is_found: bool) -> None:
    assert has("N080", cell) == is_found


SAMPLE = f"import pandas as pd\np = [1]\nsub = pd.read_csv('{DATA}/sample_submission.csv')\nsub['target'] = p\n"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        (SAMPLE + "sub.to_csv('submission.csv')", True),
        (SAMPLE + "sub.to_csv('submission.csv', index=False)", False),
        (SAMPLE + "sub.to_csv('submission.csv', index=True)", False),
        (SAMPLE + "sub.set_index('id').to_csv('submission.csv')", False),
        (SAMPLE + "sub = sub.set_index('id')\nsub.to_csv('submission.csv')", False),
        (SAMPLE + "sub.set_index('id', inplace=True)\nsub.to_csv('submission.csv')", False),
        (SAMPLE + "sub.index.name = 'id'\nsub.to_csv('submission.csv')", False),
        (SAMPLE + "sub.to_csv('submission.csv', index_label='id')", False),
        (SAMPLE + "sub[['id', 'target']].to_csv('/kaggle/working/submission.csv')", True),
        (SAMPLE + "sub.to_csv('oof.csv')", False),
        (SAMPLE.replace(".csv')", ".csv', index_col='id')") + "sub.to_csv('submission.csv')", False),
        (SAMPLE + "sub.to_csv('submission.csv')\npd.read_csv('submission.csv', index_col=0)", False),
        ("import pandas as pd\npd.DataFrame({'Id': ids, 'target': p}).to_csv('submission.csv')", True),
        ("import pandas as pd\npd.DataFrame({'target': p}, index=ids).to_csv('submission.csv')", False),
        ("import pandas as pd\npd.DataFrame({'a': p, 'b': p}).to_csv('submission.csv')", False),
        (f"import pandas as pd\nt = pd.read_csv('{DATA}/test.csv')\nt[['PassengerId', 'y']].to_csv('sub.csv')", True),
        (f"import pandas as pd\nt = pd.read_csv('{DATA}/test.csv')\nt['y'].to_csv('sub.csv')", False),
        ("import pandas as pd\ndef write(table):\n    table.to_csv('submission.csv')\nwrite(pd.DataFrame())", False),
    ],
)
def test_row_numbers_in_a_submission_are_found(code: str, *, is_found: bool) -> None:
    assert has("N068", code) == is_found


@pytest.mark.parametrize(
    ("code", "metadata", "is_found"),
    [
        ("Trainer(model=m, args=TrainingArguments('out')).train()", {"machine_shape": "TpuV5E8"}, True),
        ("class T(Trainer):\n    pass\nT(model=m).train()", {"machine_shape": "TpuV5E8"}, True),
        ("Trainer(model=m).train()", T4, False),
        ("Trainer(model=m).predict([1])", {"machine_shape": "TpuV5E8"}, False),
        ("import torch_xla\nTrainer(model=m).train()", {"machine_shape": "TpuV5E8"}, False),
        ("from accelerate import notebook_launcher\ndef run():\n    Trainer(model=m).train()\nnotebook_launcher(run)",
         {"machine_shape": "TpuV5E8"}, False),
        ("!accelerate launch train.py --tpu", {"machine_shape": "TpuV5E8"}, False),
    ],
)  # fmt: skip
def test_a_trainer_that_nothing_launches_on_a_tpu_is_found(code: str, metadata: Any, *, is_found: bool) -> None:
    head = "from transformers import Trainer, TrainingArguments\nm = print()"

    assert has("N093", f"{head}\n{code}", **metadata) == is_found


FIT_OF_KERAS = "import keras\nm = keras.Sequential()\nm.compile('adam', 'mse')\nm.fit([1], [1], epochs=9)"
FIT_OF_TRAINER = """from transformers import AutoModel, Trainer, TrainingArguments
m = AutoModel.from_pretrained('/kaggle/input/m')
settings = TrainingArguments(output_dir='{}')
trainer = Trainer(model=m, args=settings)
trainer.train()
"""


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        (f"{FIT_OF_KERAS}\nm.save('/tmp/m.keras')", True),
        (f"import os\nos.makedirs('/kaggle/temp/a')\n{FIT_OF_KERAS}\nm.save('/kaggle/temp/a/m.keras')", True),
        (f"{FIT_OF_KERAS}\nm.save('/tmp/m.keras')\nm.save_weights('m.weights.h5')", False),
        (f"{FIT_OF_KERAS}\nm.save('m.keras')", False),
        (f"{FIT_OF_KERAS}\nm.save(f'{{folder}}/m.keras')", False),
        (f"{FIT_OF_KERAS}\nm.save('/tmp/m.keras')\n!cp /tmp/m.keras /kaggle/working", False),
        (f"import shutil\n{FIT_OF_KERAS}\nm.save('/tmp/m.keras')\nshutil.copy('/tmp/m.keras', '.')", False),
        (f"import json\n{FIT_OF_KERAS}\nm.save('/tmp/m.keras')\njson.dump({{}}, open('log.json', 'w'))", False),
        (f"import json\n{FIT_OF_KERAS}\nm.save('/tmp/m.keras')\njson.dump({{}}, open('/tmp/log.json', 'w'))", True),
        ("import keras\nm = keras.Sequential()\nm.save('/tmp/m.keras')", False),
        (FIT_OF_TRAINER.format("/tmp/out") + "trainer.save_model()", True),
        (FIT_OF_TRAINER.format("out") + "trainer.save_model()", False),
        (FIT_OF_TRAINER.format("/tmp/out") + "trainer.save_model('/kaggle/working/m')", False),
        (FIT_OF_TRAINER.format("/tmp/out") + "trainer.push_to_hub()", False),
    ],
)
def test_a_training_that_saves_only_what_is_not_kept_is_found(code: str, *, is_found: bool) -> None:
    assert has("N039", code, **T4) == is_found
