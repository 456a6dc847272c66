import unittest

from sample_tree import SampleTree

BODY = "  work();\n"


def function(head, lines):
    """A function with `head` on one line that is `lines` long in all."""
    return f"{head} {{\n{BODY * (lines - 2)}}}\n"


class CheckSizes(SampleTree):
    def assert_measures(self, source, *expected):
        with self.subTest(source=source.partition("\n")[0]):
            self.write("src/ops/a.cc", source)
            self.assert_fails("check-sizes", *expected)

    def assert_accepts(self, source):
        with self.subTest(source=source.partition("\n")[0]):
            self.write("src/ops/a.cc", source)
            self.assert_passes("check-sizes")

    def test_limits_files(self):
        self.write("tools/script", "#!/bin/sh\n" + "true\n" * 799)
        self.write("tests/fixtures/data.json", "0\n" * 9000)
        self.write("bench/compare/.venv/torch.py", "pass\n" * 9000)
        self.assert_passes("check-sizes")
        self.write("tools/script", "#!/bin/sh\n" + "true\n" * 800)
        self.assert_fails("check-sizes", "tools/script:1: error: file has 801 lines, limit 800")

    def test_warns_of_a_high_median(self):
        self.write("tools/a.py", "pass\n" * 121)
        result = self.check("check-sizes")
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: the median file has 121 lines", result.stderr)

    def test_limits_functions(self):
        self.assert_accepts(function("void f()", 80))
        self.assert_measures(function("void f()", 81), "a.cc:1: error: f has 81 lines, limit 80")

    def test_gives_kernels_more(self):
        self.write("src/kernels/cpu/a.cc", function("void f()", 150))
        self.assert_passes("check-sizes")
        self.write("src/kernels/cpu/a.cc", function("void f()", 151))
        self.assert_fails("check-sizes", "f has 151 lines, limit 150")

    def test_finds_every_kind_of_function(self):
        heads = {
            "TEST(Suite, Name)": "TEST",
            "Foo::Foo(int a) : Base<T>{a}, a_(a), b_{a, {}}": "Foo::Foo",
            "Foo::~Foo() noexcept(false)": "Foo::~Foo",
            "auto f(Options o = {}) -> std::vector<int>": "f",
            "template <class T, int N = (3 > 2)> requires(N > 1) T f(Ref<void(T)> g) const": "f",
            "template <class T> requires requires(T x) { x + 1; } void f(T x)": "f",
            "bool operator==(const Foo& a, const Foo& b)": "operator",
            "bool Foo::operator()(int a) const": "Foo::operator",
            "[[nodiscard]] static struct Bar* f(int a)": "f",
            "__global__ void __launch_bounds__(256) f(float* x)": "__launch_bounds__",
            "HWY_ATTR HWY_INLINE void f(const char* s = \"{(\", char c = '}', int n = 1'000)": "f",
            "const auto f = [](int a) mutable -> int": "lambda",
            "REGISTER(softmax, [](Args a) HWY_ATTR": "lambda",
        }
        for head, name in heads.items():
            end = ");\n" if head.startswith("REGISTER") else ";\n"
            self.assert_measures(function(head, 90) + end, f"a.cc:1: error: {name} has 90 lines")

    def test_measures_in_classes_namespaces_and_highway_files(self):
        self.assert_measures(
            "HWY_BEFORE_NAMESPACE();\nnamespace glassformer {\nnamespace HWY_NAMESPACE {\n"
            + "class Foo final : public Bar<int> {\n public:\n" + function("  void f()", 81)
            + "};\n}\n}\nHWY_AFTER_NAMESPACE();\n#if HWY_ONCE\nnamespace glassformer {\n"
            + "HWY_EXPORT(f);\n" + function("void g()", 82) + "}\n#endif\n",
            "a.cc:6: error: f has 81 lines", "a.cc:94: error: g has 82 lines")

    def test_counts_a_lambda_in_its_function(self):
        self.assert_measures("void f() {\n" + function("  auto g = []", 85) + "  ;\n}\n",
                             "a.cc:1: error: f has 88 lines")

    def test_leaves_other_braces_alone(self):
        long = "  1,\n" * 200
        self.assert_accepts("namespace a::b {\n" + function("void f()", 60) * 3 + "}\n")
        self.assert_accepts('extern "C" {\n' + function("void f()", 60) * 3 + "}\n")
        self.assert_accepts("struct alignas(64) Foo : Bar {\n" + "  int a;\n" * 200 + "};\n")
        self.assert_accepts("template <class T> class A{\n" + function("void f()", 60) * 3 + "};\n")
        self.assert_accepts("enum class Kind : int {\n" + long + "};\n")
        self.assert_accepts("constexpr int kTable[] = {\n" + long + "};\n")
        self.assert_accepts("constexpr int kTable[2][3] {\n" + long + "};\n")
        self.assert_accepts("const std::map<int, void (*)(int)> table{\n" + long + "};\n")
        self.assert_accepts("const T t = {\n" + '{"a", [](int) { return 1; }},\n' * 200 + "};\n")
        self.assert_accepts("INSTANTIATE_TEST_SUITE_P(A, B, Values(Case{\n" + long + "}));\n")
        self.assert_accepts("#define F(x) \\\n  void x() { \\\n" + "  work(); \\\n" * 200 + "  }\n")
        self.assert_accepts("/* {\n" + "text\n" * 200 + "*/\nvoid f() {}\n")

    def test_ends_a_macro_call_at_its_line(self):
        self.assert_accepts("FOREACH(A, b(1))\n\n" + "// text\n" * 90 + function("void f()", 60))
        self.assert_measures(function("TEST(A, B)\n", 90), "TEST has 91 lines")

    def test_reads_both_branches_of_a_conditional(self):
        self.assert_accepts("#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n"
                            + function("void g()", 60) + function("void h()", 60))


if __name__ == "__main__":
    unittest.main()
