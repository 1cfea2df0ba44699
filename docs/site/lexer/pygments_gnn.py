"""Highlights models of gnnc (`.gnn`) with Pygments, and MLIR (`.mlir`), which Pygments does not know.

The first follows lib/Frontend/Syntax/Lexer.cpp. Words that are keywords in some places only are coloured where the grammar of
docs/Language.md has them. docs/site/check/lexer.py compares the lists with the compiler's.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

DECLARATIONS = ("space", "map", "relation", "layer", "model", "let", "param", "state", "input", "output")
KEYWORDS = ("import", "repeat", "on", "as")
WORD_OPERATORS = ("and", "or", "not")
CONSTANTS = ("true", "false")
#: Before a name, at the beginning of a statement.
STATEMENTS = ("update", "instance", "metric", "train")
#: In declarations, after a name, a type or a call.
MODIFIERS = ("static", "sparse", "partial", "exported", "from", "for")
#: Before an opening bracket, in declarations of spaces and maps.
DERIVATIONS = ("filter", "union", "distinct", "last", "pairs", "knn", "radius", "topk")
TYPES = ("int", "float", "bool")
BUILTINS = tuple(
    """
    relu leaky_relu elu gelu silu sigmoid tanh softplus exp log sqrt rsqrt abs sign square sin cos erf recip floor ceil
    round maximum minimum pow clamp outer where sum mean max min var std softmax logsumexp log_softmax degree move join
    concat rename flatten merge split permute dot dropout detach gradient spread onehot
    """.split()
)
#: Every word above that the parser takes by its text, with `loss`, `none` and `shared`, which rules below know.
CONTEXTUAL = (*STATEMENTS, *MODIFIERS, *DERIVATIONS, *TYPES, "loss", "none", "shared")

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class GnnLexer(RegexLexer):
    name = "gnnc"
    aliases = ["gnn", "gnnc"]
    filenames = ["*.gnn"]
    mimetypes = ["text/x-gnn"]
    version_added = ""

    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*?$", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"[^"\n]*"', String),
            (rf"`{NAME}`", Name),
            (rf"(layer|relation)(\s+)({NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (rf"(model|space)(\s+)({NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (rf"(let|output)(\s+)({NAME})", bygroups(Keyword.Declaration, Whitespace, Name)),
            (words(DECLARATIONS, suffix=r"\b"), Keyword.Declaration),
            (rf"(train)(\s+)({NAME})(?=\s*\()", bygroups(Keyword, Whitespace, Name.Function)),
            (rf"({'|'.join(STATEMENTS)})(?=[ \t]+[A-Za-z_`])", Keyword),
            (r"loss(?=\s*=(?!=))", Keyword),
            (rf"({'|'.join(MODIFIERS)})\b(?!\s*[.:(\[])", Keyword),
            (rf"({'|'.join(DERIVATIONS)})(?=\s*\()", Keyword),
            (r"none\b(?!\s*\.)", Keyword.Constant),
            # A named argument or an axis with a size, whatever the name is otherwise.
            (rf"({'|'.join(TYPES)})\b(?!\s*:)", Keyword.Type),
            (r"shared(?=\s*\[)", Keyword.Type),
            (words(KEYWORDS, suffix=r"\b(?!\s*:)"), Keyword),
            (words(WORD_OPERATORS, suffix=r"\b"), Operator.Word),
            (words(CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(BUILTINS, prefix=r"(?<![A-Za-z0-9_.])", suffix=r"(?=\s*\()"), Name.Builtin),
            (rf"{NAME}(?=\s*\()", Name.Function),
            (rf"(\.)({NAME})", bygroups(Punctuation, Name.Attribute)),
            (NAME, Name),
            (r"(\d+\.\d+|\.\d+)([eE][+-]?\d+)?", Number.Float),
            (r"\d+[eE][+-]?\d+", Number.Float),
            (r"\d+", Number.Integer),
            (r"->|==|!=|<=|>=|\.\.", Operator),
            (r"[=?+\-*/%@^<>|]", Operator),
            (r"[()\[\]{},;:.]", Punctuation),
            (r".", Text),
        ],
        "comment": [
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*]+", Comment.Multiline),
            (r"\*", Comment.Multiline),
        ],
    }


class MlirLexer(RegexLexer):
    """MLIR's text, as far as colours go: names by their first character, operations and types by where they stand."""

    name = "MLIR"
    aliases = ["mlir"]
    filenames = ["*.mlir"]
    mimetypes = ["text/x-mlir"]
    version_added = ""

    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*?$", Comment.Single),
            (r'"(\\.|[^"\\\n])*"', String),
            (r"%[\w$.#-]+", Name.Variable),
            (r"@[\w$.]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"![\w.]+", Keyword.Type),
            (r"#[\w.]+", Name.Decorator),
            (r"\b(tensor|memref|vector|tuple|none|index|[su]?i\d+|b?f\d+)\b", Keyword.Type),
            (r"\b(func\.func|func\.return|module|return)\b", Keyword),
            (r"\b[a-z_]\w*\.[\w.]+", Name.Builtin),
            (r"-?\d+\.\d*([eE][+-]?\d+)?|\b0x[0-9a-fA-F]+|-?\b\d+", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"->|::|[=?+\-*/<>|:]", Operator),
            (r"[()\[\]{},;.]", Punctuation),
            (r".", Text),
        ],
    }
