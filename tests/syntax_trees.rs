//! Trees in the compact form of `syntax/dump.rs`.

#[path = "syntax/dump.rs"]
mod dump;

use kc::diag::Diagnostics;
use kc::source::{FileId, SourceFile};

fn check(text: &str, expected: &str) {
    let mut diagnostics = Diagnostics::new();
    let parsed = kc::syntax::parse(FileId(0), text, &mut diagnostics);
    let found: Vec<_> = diagnostics.iter().map(|d| &d.message).collect();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(dump::items(&parsed, &SourceFile::new("test.py", text.to_owned())), expected);
}

/// The value of one expression statement in a function.
fn check_expr(text: &str, expected: &str) {
    check(&format!("@func\ndef f():\n    y = {text}\n"), &format!("@func\ndef f [] -> _\n  3:5 = y {expected}\n"));
}

#[test]
fn operators_bind_as_in_python() {
    check_expr("1 + 2 * 3 ** -4", "(+ 1 (* 2 (** 3 (- 4))))");
    check_expr("-a ** b", "(- (** a b))");
    check_expr("a - b - c", "(- (- a b) c)");
    check_expr("a ** b ** c", "(** a (** b c))");
    check_expr("a | b ^ c & d << e + f // g", "(| a (^ b (& c (<< d (+ e (// f g))))))");
    check_expr("a @ b % c", "(% (@ a b) c)");
    check_expr("not a or b and not c == d", "(or (not a) (and b (not (cmp c == d))))");
    check_expr("a or b or c", "(or a b c)");
    check_expr("(a or b) or c", "(or (or a b) c)");
    check_expr("0 < a <= b != c", "(cmp 0 < a <= b != c)");
    check_expr("a is not b in c not in d is e", "(cmp a is not b in c not in d is e)");
    check_expr("a if b else c if d else e", "(if b a (if d c e))");
    check_expr("~a.b[c](d)", "(~ (call (at (. a b) c) d))");
}

#[test]
fn subscripts_calls_and_tuples() {
    check_expr("a[i, j:k, ::2, ...]", "(at a i (: j k _) (: _ _ 2) ?`...`)");
    check_expr("a[(i, j)]", "(at a i j)");
    check_expr("a[:], b[i,]", "(tuple (at a (: _ _ _)) (at b i))");
    check_expr("f(a, *b, c=d, **e)", "(call f a (* b) c=d ?`**` in a call)");
    check_expr("(), (a), (a,), [a, *b]", "(tuple (tuple) a (tuple a) (list a (* b)))");
}

#[test]
fn literals() {
    check_expr("'a' \"b\\n\" r'\\n'", "\"ab\\u{a}\\\\n\"");
    check_expr("0x_Ff + 1_000 + 0b11 + 0o17", "(+ (+ (+ 255 1000) 3) 15)");
    check_expr("1.5e0, .5, 1.", "(tuple f3ff8000000000000 f3fe0000000000000 f3ff0000000000000)");
    check_expr("999999999999999999999999999999999999999999", "huge");
    check_expr("None, True, False", "(tuple None True False)");
    check_expr("'a' f'{x}'", "?an f-string");
    check_expr("f'{x['a']}' + rb'a' + 2j", "(+ (+ ?an f-string ?a bytes literal) ?a complex number)");
    check_expr(
        "[i * j for i in a for j, k in b if j if k], f(x for x in y)",
        "(tuple (each (* i j) (for i a) (for (tuple j k) b j k)) (call f (generate x (for x y))))",
    );
    check_expr("lambda: 1, {a}, {a: b}, {}", "(tuple (lambda [] 1) ?a set (dict a b) (dict))");
    check_expr("lambda a, b=2, *c: a", "(lambda [(a _ _) (b _ 2) (*c _ _)] a)");
}

#[test]
fn statements() {
    check(
        "@wp.func\ndef f(a: int, b: wp.vec3 = c, *d, e, **g) -> int:\n    '''Doc.\n\n      More.\n    '''\n    a = b = c\n    \
         a.x += 1; x[i] //= 2\n    i, j = wp.tid()\n    n: int\n    n: int = 3\n    if a: pass\n    elif b: break\n    else:\n        \
         continue\n    for i, (j, k) in range(3): f(i)\n    while a:\n        return\n    else: return a, b\n    assert a, 'm'\n    ...\n    \
         try:\n        broken broken\n    finally:\n        x\n    del a\n",
        "@(. wp func)\ndef f [(a int _) (b (. wp vec3) c) (*d _ _) (e _ _) (**g _ _)] -> int\n  doc \"Doc.\\u{a}\\u{a}More.\"\n  \
         7:5 = a b c\n  8:5 += (. a x) 1\n  8:15 //= (at x i) 2\n  9:5 = (tuple i j) (call (. wp tid))\n  10:5 : n int _\n  11:5 : n int 3\n  \
         12:5 if a\n    12:11 pass\n  else\n    13:5 if b\n      13:13 break\n    else\n      15:9 continue\n  \
         16:5 for (tuple i (tuple j k)) (call range 3)\n    16:32 (call f i)\n  else\n  17:5 while a\n    18:9 return _\n  else\n    \
         19:11 return (tuple a b)\n  20:5 assert a \"m\"\n  21:5 pass\n  22:5 ?`try`\n  26:5 ?`del`\n",
    );
}

#[test]
fn items_of_a_module() {
    check(
        "import a.b as c, d\nfrom . import e\nfrom ..f import (g as h, i,)\nfrom j import *\nN = M = 3; K: int = 4\nN += 1\nV = {}\nW = lambda: 0\n\
         x.y = 3\ndef host(a, b=[]):\n    return lambda: 0\n\nclass Mode(enum.IntEnum):\n    '''Doc.'''\n    A = 1\n    B = enum.auto()\n    \
         def f(self): return 1\n\n@wp.struct\nclass S:\n    x: wp.vec3\n    y: float = 1.0\n\nclass Other: z = 3\n",
        "import a.b as c\nimport d\nimport . (e _)\nimport ..f (g h) (i _)\nimport j (* _)\nconst N 3\nconst M 3\nconst K 4\nconst N opaque\n\
         const V (dict)\nconst W (lambda [] 0)\ndef host [(a _ _) (b _ (list))] -> _\nclass Mode [(. enum IntEnum)]\n  A _ 1\n  \
         B _ (call (. enum auto))\nclass S []\n  x (. wp vec3) _\n  y float f3ff0000000000000\n",
    );
}
