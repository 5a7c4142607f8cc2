"""Blends of models: weights from out-of-fold predictions, chosen by nested folds."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

MOST_STEPS = 60  # of hill climbing
RIDGE = 0.01  # pulls the weights of a stacking towards the mean


def in_space(members, space):
    """Return predictions [members, rows, outputs] on the scale on which they are averaged."""
    members = np.asarray(members, dtype="float64")
    if space == "number":
        return members
    if space == "log":
        return np.log1p(np.maximum(members, 0))
    return np.clip(members, 1e-7, 1 - 1e-7)  # probabilities


def quantiles_of(members):
    """Return 1,001 quantiles of each column of each member [members, outputs, 1001]."""
    return np.quantile(members, np.linspace(0, 1, 1001), axis=1).transpose(1, 2, 0)


def to_ranks(members, quantiles):
    """Return the share of the out-of-fold predictions that are lower, for each prediction."""
    shares = np.linspace(0, 1, np.shape(quantiles)[-1])
    result = np.empty(members.shape)
    for place in np.ndindex(members.shape[0], members.shape[2]):
        column, values = members[place[0], :, place[1]], np.asarray(quantiles[place[0]][place[1]])
        low, high = (
            np.interp(column, values, shares),
            -np.interp(-column, -values[::-1], -shares[::-1]),
        )
        result[place[0], :, place[1]] = (low + high) / 2
    return result


def blend_predictions(blend, members):
    """Return the predictions of a blend [rows, outputs] for those of its members, in their order."""
    space, weights = blend["space"], np.asarray(blend["weights"])
    members = in_space(members, space)
    if blend["method"] == "rank":
        members = to_ranks(members, blend["quantiles"])
    if blend["method"] != "stacking":
        result = np.einsum("m,mro->ro", weights, members)
    elif space == "classes":
        result = softmax(np.einsum("m,mro->ro", weights, np.log(members)) + blend["bias"], axis=1)
    elif space == "labels":
        logits = np.log(members) - np.log1p(-members)
        result = expit(np.einsum("m,mro->ro", weights, logits) + blend["bias"])
    else:
        result = np.einsum("mo,mro->ro", weights, members) + blend["bias"]
    return np.maximum(np.expm1(result), 0) if space == "log" else result


def climb(members, truth, fit_score):
    """Return weights by hill climbing with replacement, from the best member, while the score rises."""
    scores = [fit_score(truth, member) for member in members]
    counts = np.zeros(len(members), dtype=int)
    counts[int(np.argmax(scores))] = 1
    best, total = max(scores), members[int(np.argmax(scores))].copy()
    for steps in range(2, MOST_STEPS):
        scores = [fit_score(truth, (total + member) / steps) for member in members]
        place = int(np.argmax(scores))
        if scores[place] <= best:
            break
        best, total = scores[place], total + members[place]
        counts[place] += 1
    return counts / counts.sum()


def bag_weights(members, truth, fit_score, seed=0):
    """Return the mean of the weights that hill climbing finds on halves of at most 20,000 rows."""
    rng, rows, weights = np.random.default_rng(seed), len(truth), []
    for _ in range(4):
        order = rng.permutation(rows)
        for half in (order[: rows // 2][:20_000], order[rows // 2 :][:20_000]):
            weights.append(climb(members[:, half], truth[half], fit_score))
    return np.mean(weights, axis=0)


def ridge(members, truth):
    """Return weights [members, outputs] and bias [outputs] of a ridge that is pulled to the mean."""
    weights, bias = np.empty(members.shape[::2]), np.empty(members.shape[2])
    for column in range(members.shape[2]):
        inputs, targets = members[:, :, column].T, truth[:, column]
        mean = inputs.mean(axis=1)
        deviations, rest = inputs - mean[:, None], targets - mean
        center, bias[column] = deviations.mean(axis=0), rest.mean()
        deviations = deviations - center
        gram = deviations.T @ deviations
        gram += np.eye(len(gram)) * (RIDGE * np.trace(gram) / len(gram) + 1e-12)
        shift = np.linalg.solve(gram, deviations.T @ (rest - bias[column]))
        shift -= shift.mean()  # weights sum to 1
        bias[column] -= center @ shift
        weights[:, column] = 1 / len(gram) + shift
    return weights, bias


def logistic(members, truth, space):
    """Return weights [members] and bias [outputs] of a logistic regression on log-probabilities."""
    rows = np.arange(0, len(truth), 1 + len(truth) // 50_000)
    members, truth, count = members[:, rows], np.asarray(truth)[rows], len(members)
    if space == "classes":
        inputs, targets = np.log(members), np.eye(members.shape[2])[truth]
    else:
        inputs, targets = np.log(members) - np.log1p(-members), truth

    def loss(parameters):
        weights, bias = parameters[:count], parameters[count:]
        logits = np.einsum("m,mro->ro", weights, inputs) + bias
        if space == "classes":
            value, error = (
                -(targets * log_softmax(logits, axis=1)).sum(),
                softmax(logits, axis=1) - targets,
            )
        else:
            value = (np.logaddexp(0, logits) - targets * logits).sum()
            error = expit(logits) - targets
        slope = np.einsum("ro,mro->m", error, inputs)
        pull = parameters - start
        value, slope = value / len(rows), np.concatenate([slope, error.sum(axis=0)]) / len(rows)
        return value + RIDGE * (pull**2).sum(), slope + 2 * RIDGE * pull

    start = np.concatenate([np.full(count, 1 / count), np.zeros(members.shape[2])])
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return best[:count], best[count:]


def fit_blend(method, members, truth, space, fit_score):
    """Return the blend of a method, in numbers and lists: `method`, `space`, `weights` and more."""
    inside, count = in_space(members, space), len(members)
    blend = {"method": method, "space": space}
    if method == "stacking" and space in ("classes", "labels"):
        weights, bias = logistic(inside, truth, space)
        return blend | {"weights": weights.tolist(), "bias": bias.tolist()}
    if method == "stacking":
        targets = np.log1p(truth) if space == "log" else truth
        weights, bias = ridge(inside, targets)
        return blend | {"weights": weights.tolist(), "bias": bias.tolist()}
    if method == "best":
        scores = [fit_score(truth, member) for member in np.asarray(members)]
        return blend | {"weights": np.eye(count)[int(np.argmax(scores))].tolist()}
    weights = np.full(count, 1 / count)
    if method == "hill-climbing":
        out_of = np.expm1 if space == "log" else np.asarray
        weights = bag_weights(inside, truth, lambda truth, values: fit_score(truth, out_of(values)))
    if method == "rank":
        blend["quantiles"] = quantiles_of(inside).tolist()
    return blend | {"weights": weights.tolist()}


def cross_fit(method, members, truth, fold_of_row, space, fit_score):
    """Return the predictions of blends that are each fitted on the other folds."""
    predictions = np.empty(np.shape(members)[1:])
    for fold in np.unique(fold_of_row):
        rest, rows = fold_of_row != fold, fold_of_row == fold
        blend = fit_blend(method, members[:, rest], truth[rest], space, fit_score)
        predictions[rows] = blend_predictions(blend, members[:, rows])
    return predictions


def fold_scores(method, members, truth, fold_of_row, space, fit_score):
    """Return the scores on each fold of blends that are each fitted on the other folds."""
    predictions = cross_fit(method, members, truth, fold_of_row, space, fit_score)
    rows = [fold_of_row == fold for fold in np.unique(fold_of_row)]
    return np.array([fit_score(truth[part], predictions[part]) for part in rows])


def choose_method(methods, members, truth, fold_of_row, space, fit_score):
    """Return a method, and the mean scores of all on folds that they were not fitted on.

    A method takes the place of one before it, which is simpler, if it is better by two standard errors.
    """
    count = len(np.unique(fold_of_row))
    if len(methods) == 1 or count < 2:
        return methods[0], {}
    data = members, truth, fold_of_row, space, fit_score
    scores = {method: fold_scores(method, *data) for method in methods}
    best = methods[0]
    for method in methods[1:]:
        gains = scores[method] - scores[best]
        best = method if gains.mean() > 2 * gains.std(ddof=1) / count**0.5 else best
    return best, {method: float(values.mean()) for method, values in scores.items()}


def correlations(members):
    """Return the correlation of the predictions of each two members, the mean over outputs."""
    columns = np.moveaxis(np.asarray(members, dtype="float64"), 2, 0)
    varying = [column for column in columns if (column.std(axis=1) > 0).all()]
    return np.mean([np.corrcoef(column) for column in varying or columns], axis=0)


def gains_of(method, members, truth, fold_of_row, space, fit_score):
    """Return by how much the score falls without each member [members]."""
    if len(members) < 2:
        return np.zeros(len(members))
    data = truth, fold_of_row, space, fit_score
    whole = fold_scores(method, members, *data).mean()
    left = [np.delete(members, place, axis=0) for place in range(len(members))]
    return whole - np.array([fold_scores(method, rest, *data).mean() for rest in left])
