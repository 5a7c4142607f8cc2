"""What Kaggle, or the way to it, can answer instead of what was asked; each error names the next step.

KaggleError
├── CredentialsError              no credentials here, or some that Kaggle does not accept (401)
├── UnreachableError              no connection, a connection that broke, or no answer in time
├── NotKaggleError                an answer that is not of Kaggle's API: HTML, no JSON, a type that is not known
├── ServerFailedError             5xx, after the retries that were safe
├── RateLimitedError              429, after the retries that were safe
├── NotFoundError                 404: no such competition, kernel, dataset, model or file
├── ForbiddenError                403 with no reason that is known
│   ├── RulesNotAcceptedError     the competition's rules have to be accepted in a browser
│   ├── PhoneNotVerifiedError     the account's phone number is not verified
│   ├── IdentityNotVerifiedError  the account's identity is not verified
│   └── SubmitForbiddenError      this submission has to be made in a browser
├── RefusedError                  Kaggle understood and said no: an `error` field, or another 4xx
│   ├── QuotaUsedUpError          no accelerator hours are left this week
│   ├── SessionLimitError         as many sessions run already as the account may have
│   ├── SlugTakenError            another kernel, dataset or model has this name
│   ├── SubmissionLimitError      no submission is left today
│   └── SourcesRefusedError       a push that was saved without some of its inputs
└── UnsafeAnswerError             an answer, or a file to be sent, that a guard refused
"""

from generator.errors import TandemError


class KaggleError(TandemError):
    """Something went wrong between this machine and Kaggle."""
