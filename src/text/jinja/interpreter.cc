#include "text/jinja/interpreter.h"

#include <cmath>
#include <map>

#include "base/check.h"
#include "text/jinja/builtins.h"

namespace glassformer::jinja {
namespace {

constexpr int64_t kMostSteps = 2'000'000;
constexpr int kDeepest = 60;

using Kind = Expression::Kind;

class Interpreter {
 public:
  explicit Interpreter(const Dict& variables) {
    frames_.emplace_back();
    for (const auto& [name, value] : variables.items) frames_[0][name] = value;
  }

  std::string run(const Body& program) {
    execute(program);
    return std::move(output_);
  }

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  using Frame = std::map<std::string, Value, std::less<>>;

  struct Nest {
    explicit Nest(int& depth) : depth(depth) {
      require<ValueError>(++depth <= kDeepest, "chat template: nests deeper than {} levels",
                          kDeepest);
    }
    ~Nest() { --depth; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    int& depth;
  };

  void step() {
    require<ValueError>(++steps_ <= kMostSteps, "chat template: takes more than {} steps",
                        kMostSteps);
  }
  void write(std::string_view text) {
    output_ += text;
    check_size(output_.size());
  }

  Flow execute(const Body& body) {
    const Nest nest(depth_);
    for (const Statement& statement : body) {
      const Flow flow = execute(statement);
      if (flow != Flow::kNormal) return flow;
    }
    return Flow::kNormal;
  }

  Flow execute(const Statement& s) {
    step();
    switch (s.kind) {
      case Statement::Kind::kText: write(s.text); break;
      case Statement::Kind::kPrint: write(evaluate(*s.expression).to_text()); break;
      case Statement::Kind::kFor: return loop(s);
      case Statement::Kind::kIf:
        return execute(evaluate(*s.expression).truth() ? s.body : s.otherwise);
      case Statement::Kind::kSet: assign(s); break;
      case Statement::Kind::kSetBlock: frames_.back()[s.names[0]] = capture(s.body); break;
      case Statement::Kind::kMacro: frames_.back()[s.text] = macro(s); break;
      case Statement::Kind::kScope: return execute(s.body);
      case Statement::Kind::kBreak: return Flow::kBreak;
      case Statement::Kind::kContinue: return Flow::kContinue;
    }
    return Flow::kNormal;
  }

  std::string capture(const Body& body) {
    std::string before = std::move(output_);
    output_.clear();
    execute(body);
    std::swap(before, output_);
    return before;
  }

  void bind(const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) {
      frames_.back()[names[0]] = value;
      return;
    }
    const List parts = value.elements();
    require<ValueError>(parts.size() == names.size(), "chat template: {} names for {} values",
                        names.size(), parts.size());
    for (size_t i = 0; i < names.size(); ++i) frames_.back()[names[i]] = parts[i];
  }

  void assign(const Statement& s) {
    const Value value = evaluate(*s.expression);
    if (s.text.empty()) return bind(s.names, value);
    Dict& target = lookup(s.names[0]).mutable_dict();
    require<ValueError>(target.is_namespace,
                        "chat template: attributes can only be set of a namespace, not of '{}'",
                        s.names[0]);
    target.set(s.text, value);
  }

  static Value loop_variable(const List& items, size_t i, int64_t depth) {
    const auto count = static_cast<int64_t>(items.size());
    const auto at = static_cast<int64_t>(i);
    Dict loop;
    loop.items = {
        {"index", at + 1},
        {"index0", at},
        {"revindex", count - at},
        {"revindex0", count - at - 1},
        {"first", i == 0},
        {"last", i + 1 == items.size()},
        {"length", count},
        {"depth", depth},
        {"depth0", depth - 1},
        {"previtem", i > 0 ? items[i - 1] : Value::undefined("loop.previtem")},
        {"nextitem", i + 1 < items.size() ? items[i + 1] : Value::undefined("loop.nextitem")},
        {"cycle", Function([at](const Arguments& a) -> Value {
           require<ValueError>(!a.positional.empty(), "chat template: cycle of nothing");
           return a.positional[static_cast<size_t>(at) % a.positional.size()];
         })}};
    return loop;
  }

  Flow loop(const Statement& s) {
    const Nest nest(depth_);
    List items = evaluate(*s.expression).elements();
    frames_.emplace_back();
    if (s.condition) {
      List kept;
      for (const Value& item : items) {
        step();
        frames_.back().clear();
        bind(s.names, item);
        if (evaluate(*s.condition).truth()) kept.push_back(item);
      }
      items = std::move(kept);
    }
    ++loops_;
    for (size_t i = 0; i < items.size(); ++i) {
      step();
      frames_.back().clear();
      frames_.back()["loop"] = loop_variable(items, i, loops_);
      bind(s.names, items[i]);
      if (execute(s.body) == Flow::kBreak) break;
    }
    --loops_;
    frames_.pop_back();
    return items.empty() ? execute(s.otherwise) : Flow::kNormal;
  }

  // A macro sees its arguments and what is set at the top of the template.
  Value macro(const Statement& s) {
    return Function([this, &s](const Arguments& arguments) -> Value {
      const Nest nest(depth_);
      Frame frame;
      require<ValueError>(arguments.positional.size() <= s.names.size(),
                          "chat template: the macro '{}' takes {} arguments, found {}", s.text,
                          s.names.size(), arguments.positional.size());
      const size_t required_count = s.names.size() - s.defaults.size();
      for (size_t i = 0; i < s.names.size(); ++i) {
        const Value* given = arguments.find(i, s.names[i]);
        if (given != nullptr) {
          frame[s.names[i]] = *given;
        } else if (i >= required_count) {
          frame[s.names[i]] = evaluate(*s.defaults[i - required_count]);
        } else {
          frame[s.names[i]] = Value::undefined(s.names[i]);
        }
      }
      std::vector<Frame> outer = std::move(frames_);
      frames_.clear();
      frames_.push_back(outer[0]);
      frames_.push_back(std::move(frame));
      std::string text = capture(s.body);
      frames_ = std::move(outer);
      return text;
    });
  }

  Value lookup(std::string_view name) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
      if (const auto found = frame->find(name); found != frame->end()) return found->second;
    const Value* global = find_global(name);
    return global != nullptr ? *global : Value::undefined(std::string(name));
  }

  Arguments arguments(const Expression& call) {
    Arguments result;
    for (size_t i = 1; i < call.children.size(); ++i)
      result.positional.push_back(evaluate(*call.children[i]));
    for (const auto& [name, value] : call.named) result.named.emplace_back(name, evaluate(*value));
    return result;
  }

  Value evaluate(const Expression& e) {
    step();
    const Nest nest(depth_);
    switch (e.kind) {
      case Kind::kLiteral: return e.value;
      case Kind::kName: return lookup(e.text);
      case Kind::kList: {
        List list;
        for (const auto& child : e.children) list.push_back(evaluate(*child));
        return list;
      }
      case Kind::kDict: {
        Dict dict;
        for (size_t i = 0; i < e.children.size(); i += 2)
          dict.set(evaluate(*e.children[i]).to_text(), evaluate(*e.children[i + 1]));
        return dict;
      }
      case Kind::kAttribute: return get_item(evaluate(*e.children[0]), e.text);
      case Kind::kIndex: return get_item(evaluate(*e.children[0]), evaluate(*e.children[1]));
      case Kind::kSlice: return slice(e);
      case Kind::kCall: return call(e);
      case Kind::kFilter: return apply_filter(e.text, evaluate(*e.children[0]), arguments(e));
      case Kind::kTest: return apply_test(e.text, evaluate(*e.children[0]), arguments(e));
      case Kind::kUnary: return unary(e);
      case Kind::kBinary: return binary(e);
      case Kind::kCompare: return compare(e);
      case Kind::kCondition:
        if (evaluate(*e.children[1]).truth()) return evaluate(*e.children[0]);
        return e.children[2] ? evaluate(*e.children[2]) : Value::undefined("an if without else");
    }
    return {};
  }

  Value call(const Expression& e) {
    const Expression& callee = *e.children[0];
    if (callee.kind != Kind::kAttribute) {
      const Value function = evaluate(callee);
      return function.call(arguments(e));
    }
    const Value object = evaluate(*callee.children[0]);
    const Arguments given = arguments(e);
    Value result;
    if (call_method(object, callee.text, given, result)) return result;
    const Value member = get_item(object, callee.text);
    require<ValueError>(member.is_function(),
                        "chat template: the method '{}' of {} is not supported", callee.text,
                        object.kind());
    return member.call(given);
  }

  Value slice(const Expression& e) {
    const Value object = evaluate(*e.children[0]);
    const List items = object.elements();
    const auto size = static_cast<int64_t>(items.size());
    const auto part = [&](size_t i, int64_t otherwise) {
      if (!e.children[i]) return otherwise;
      const Value value = evaluate(*e.children[i]);
      return value.is_none() ? otherwise : value.integer();
    };
    const int64_t step = part(3, 1);
    require<ValueError>(step != 0, "chat template: a slice with a step of 0");
    const auto clamp = [&](int64_t at) {
      if (at < 0) at = std::max<int64_t>(at + size, step < 0 ? -1 : 0);
      return std::min(at, step < 0 ? size - 1 : size);
    };
    const int64_t begin =
        e.children[1] ? clamp(part(1, step < 0 ? size - 1 : 0)) : (step < 0 ? size - 1 : 0);
    const int64_t end =
        e.children[2] ? clamp(part(2, step < 0 ? -1 : size)) : (step < 0 ? -1 : size);
    List kept;
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
      kept.push_back(items[static_cast<size_t>(i)]);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    if (!object.is_text()) return kept;
    std::string text;
    for (const Value& one : kept) text += one.text();
    return text;
  }

  Value unary(const Expression& e) {
    Value value = evaluate(*e.children[0]);
    if (e.text == "not") return !value.truth();
    if (e.text == "+") return value;
    return value.is_real() ? Value(-value.real()) : Value(-value.integer());
  }

  Value compare(const Expression& e) {
    Value left = evaluate(*e.children[0]);
    for (size_t i = 0; i < e.operators.size(); ++i) {
      const Value right = evaluate(*e.children[i + 1]);
      const std::string& op = e.operators[i];
      const bool holds = op == "=="       ? left.equals(right)
                         : op == "!="     ? !left.equals(right)
                         : op == "in"     ? right.contains(left)
                         : op == "not in" ? !right.contains(left)
                         : op == "<"      ? left.compare(right) < 0
                         : op == "<="     ? left.compare(right) <= 0
                         : op == ">"      ? left.compare(right) > 0
                                          : left.compare(right) >= 0;
      if (!holds) return false;
      left = right;
    }
    return true;
  }

  Value binary(const Expression& e) {
    const Value left = evaluate(*e.children[0]);
    if (e.text == "and") return left.truth() ? evaluate(*e.children[1]) : left;
    if (e.text == "or") return left.truth() ? left : evaluate(*e.children[1]);
    const Value right = evaluate(*e.children[1]);
    if (e.text == "~") return joined(left.to_text(), right.to_text());
    if (e.text == "+" && left.is_text() && right.is_text())
      return joined(left.text(), right.text());
    if (e.text == "+" && left.is_list() && right.is_list()) {
      List both = left.list();
      check_size(both.size() + right.list().size());
      both.insert(both.end(), right.list().begin(), right.list().end());
      return both;
    }
    if (e.text == "*" && left.is_text()) return repeated(left.text(), right.integer());
    if (e.text == "*" && right.is_text()) return repeated(right.text(), left.integer());
    return arithmetic(e.text, left, right);
  }

  static Value joined(std::string left, const std::string& right) {
    check_size(left.size() + right.size());
    return left += right;
  }
  static Value repeated(const std::string& text, int64_t times) {
    std::string result;
    if (times <= 0 || text.empty()) return result;
    require<ValueError>(static_cast<uint64_t>(times) <= kLargest / text.size(),
                        "chat template: a string repeated {} times", times);
    for (int64_t i = 0; i < times; ++i) result += text;
    return result;
  }

  static Value arithmetic(const std::string& op, const Value& left, const Value& right) {
    const bool reals = left.is_real() || right.is_real();
    const double a = left.real();
    const double b = right.real();
    const bool divides = op == "/" || op == "//" || op == "%";
    require<ValueError>(!divides || b != 0, "chat template: division by zero");
    if (op == "/") return a / b;
    if (op == "**") {
      const double power = std::pow(a, b);
      return reals || b < 0 || std::abs(power) > 9e15 ? Value(power)
                                                      : Value(static_cast<int64_t>(power));
    }
    if (reals) {
      if (op == "+") return a + b;
      if (op == "-") return a - b;
      if (op == "*") return a * b;
      return op == "//" ? std::floor(a / b) : a - b * std::floor(a / b);
    }
    const int64_t x = left.integer();
    const int64_t y = right.integer();
    int64_t result = 0;
    bool overflow = false;
    if (op == "+") overflow = __builtin_add_overflow(x, y, &result);
    if (op == "-") overflow = __builtin_sub_overflow(x, y, &result);
    if (op == "*") overflow = __builtin_mul_overflow(x, y, &result);
    if (op == "//" || op == "%") {
      if (y == -1) return op == "%" ? Value(int64_t{0}) : arithmetic("*", left, right);
      const int64_t remainder = x % y != 0 && (x < 0) != (y < 0) ? x % y + y : x % y;
      result = op == "%" ? remainder : (x - remainder) / y;
    }
    require<ValueError>(!overflow, "chat template: a number that is too large");
    return result;
  }

  std::vector<Frame> frames_;  // the last one is the innermost
  std::string output_;
  int64_t steps_ = 0;
  int depth_ = 0;
  int64_t loops_ = 0;
};

}  // namespace

std::string run(const Body& program, const Dict& variables) {
  return Interpreter(variables).run(program);
}

}  // namespace glassformer::jinja
