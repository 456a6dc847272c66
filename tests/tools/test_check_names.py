import unittest

from sample_tree import SampleTree


class CheckNames(SampleTree):
    def test_accepts_one_name_in_other_places(self):
        self.write("include/glassformer/a.h", "namespace glassformer {\nclass A;\nstruct B { int c; };\n}\n")
        self.write("src/a.cc", "namespace glassformer {\nclass A final : public B { struct B {}; };\n}\n")
        self.write("src/b.cc", "namespace glassformer {\nnamespace {\nstruct B {};\n}\n}\n")
        self.write("src/c.cc", "namespace glassformer::c {\nenum class B : int { kOne };\n"
                               "template <class A> struct C {};\ntemplate <> struct C<int> {};\n"
                               "int f(struct B b) { struct B { int x; } y; return y.x; }\n}\n")
        self.assert_passes("check-names")

    def test_rejects_a_second_definition(self):
        self.write("include/glassformer/a.h", "namespace glassformer {\nstruct B : A {\n};\n}\n")
        self.write("src/a.cc", "// struct B {}\nnamespace glassformer {\n#define X {\nclass B {};\n}\n")
        self.assert_fails("check-names", "a.cc:4: error: glassformer::B is defined in "
                                         "include/glassformer/a.h:2 too")

    def test_of_the_project(self):
        self.assertIn("each defined once", self.run_tool("check-names").stdout)


if __name__ == "__main__":
    unittest.main()
