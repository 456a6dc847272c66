#include <algorithm>

#include "base/check.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace glassformer::jinja {
namespace {

constexpr int kDeepest = 100;

using Kind = Expression::Kind;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Body run() {
    Body body = parse_body({});
    if (peek().kind != Token::Kind::kEnd) fail("an end without its beginning");
    return body;
  }

 private:
  // Counts how deep the parser is in itself.
  struct Nest {
    explicit Nest(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kDeepest) parser.fail("nested too deep");
    }
    ~Nest() { --parser.depth_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    Parser& parser;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw FileError(fmt::format("chat template, line {}: {}", peek().line, what));
  }
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    Token token = peek();
    ++at_;
    return token;
  }
  bool is_op(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::kOperator && peek(ahead).text == text;
  }
  bool is_name(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::kName && peek(ahead).text == text;
  }
  bool take_op(std::string_view text) { return is_op(text) && ++at_ > 0; }
  bool take_name(std::string_view text) { return is_name(text) && ++at_ > 0; }
  void expect_op(std::string_view text) {
    if (!take_op(text)) fail(fmt::format("expected '{}', found '{}'", text, peek().text));
  }
  std::string expect_name() {
    if (peek().kind != Token::Kind::kName)
      fail(fmt::format("expected a name, found '{}'", peek().text));
    return next().text;
  }
  void expect_block_end() {
    if (peek().kind != Token::Kind::kBlockEnd)
      fail(fmt::format("expected the end of the block, found '{}'", peek().text));
    ++at_;
  }

  ExpressionPtr make(Kind kind, std::string text = "") const {
    auto node = std::make_unique<Expression>();
    node->kind = kind;
    node->line = peek().line;
    node->text = std::move(text);
    return node;
  }
  ExpressionPtr make(Kind kind, std::string text, ExpressionPtr first,
                     ExpressionPtr second = nullptr) const {
    auto node = make(kind, std::move(text));
    node->children.push_back(std::move(first));
    if (second) node->children.push_back(std::move(second));
    return node;
  }
  ExpressionPtr literal(Value value) const {
    auto node = make(Kind::kLiteral);
    node->value = std::move(value);
    return node;
  }

  // Statements up to {% one of `ends` %}, which stays where it is, just before its name.
  Body parse_body(std::initializer_list<std::string_view> ends) {
    const Nest nest(*this);
    Body body;
    for (;;) {
      switch (peek().kind) {
        case Token::Kind::kEnd:
          if (ends.size() > 0) fail(fmt::format("expected {{% {} %}}", *std::prev(ends.end())));
          return body;
        case Token::Kind::kData: {
          Statement text;
          text.kind = Statement::Kind::kText;
          text.text = next().text;
          body.push_back(std::move(text));
          break;
        }
        case Token::Kind::kPrintBegin: {
          ++at_;
          Statement print;
          print.kind = Statement::Kind::kPrint;
          print.line = peek().line;
          print.expression = parse_tuple();
          if (peek().kind != Token::Kind::kPrintEnd)
            fail(fmt::format("expected '}}}}', found '{}'", peek().text));
          ++at_;
          body.push_back(std::move(print));
          break;
        }
        case Token::Kind::kBlockBegin: {
          ++at_;
          for (const std::string_view end : ends)
            if (is_name(end)) return body;
          body.push_back(parse_statement());
          break;
        }
        default: fail(fmt::format("unexpected '{}'", peek().text));
      }
    }
  }

  Statement parse_statement() {
    Statement statement;
    statement.line = peek().line;
    const std::string name = expect_name();
    if (name == "for") {
      parse_for(statement);
    } else if (name == "if") {
      parse_if(statement);
    } else if (name == "set") {
      parse_set(statement);
    } else if (name == "macro") {
      parse_macro(statement);
    } else if (name == "generation") {
      statement.kind = Statement::Kind::kScope;
      expect_block_end();
      statement.body = parse_body({"endgeneration"});
      ++at_;
      expect_block_end();
    } else if (name == "break" || name == "continue") {
      statement.kind = name == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
      expect_block_end();
    } else {
      fail(fmt::format("the statement '{}' is not supported", name));
    }
    return statement;
  }

  void parse_for(Statement& statement) {
    statement.kind = Statement::Kind::kFor;
    const bool parenthesis = take_op("(");
    do statement.names.push_back(expect_name());
    while (take_op(","));
    if (parenthesis) expect_op(")");
    if (!take_name("in")) fail("expected 'in'");
    statement.expression = parse_or();
    if (take_name("if")) statement.condition = parse_expression();
    if (is_name("recursive")) fail("recursive loops are not supported");
    expect_block_end();
    statement.body = parse_body({"else", "endfor"});
    if (take_name("else")) {
      expect_block_end();
      statement.otherwise = parse_body({"endfor"});
    }
    ++at_;
    expect_block_end();
  }

  void parse_if(Statement& statement) {
    statement.kind = Statement::Kind::kIf;
    statement.expression = parse_expression();
    expect_block_end();
    statement.body = parse_body({"elif", "else", "endif"});
    if (take_name("elif")) {
      const Nest nest(*this);
      Statement& rest = statement.otherwise.emplace_back();
      rest.line = peek().line;
      parse_if(rest);
      return;
    }
    if (take_name("else")) {
      expect_block_end();
      statement.otherwise = parse_body({"endif"});
    }
    ++at_;
    expect_block_end();
  }

  void parse_set(Statement& statement) {
    statement.kind = Statement::Kind::kSet;
    do statement.names.push_back(expect_name());
    while (take_op(","));
    if (statement.names.size() == 1 && take_op(".")) statement.text = expect_name();
    if (take_op("=")) {
      statement.expression = parse_tuple();
      expect_block_end();
      return;
    }
    statement.kind = Statement::Kind::kSetBlock;
    if (statement.names.size() != 1 || !statement.text.empty()) fail("expected '='");
    expect_block_end();
    statement.body = parse_body({"endset"});
    ++at_;
    expect_block_end();
  }

  void parse_macro(Statement& statement) {
    statement.kind = Statement::Kind::kMacro;
    statement.text = expect_name();
    expect_op("(");
    while (!is_op(")")) {
      statement.names.push_back(expect_name());
      if (take_op("=")) {
        statement.defaults.push_back(parse_expression());
      } else if (!statement.defaults.empty()) {
        fail("an argument without a default after one with");
      }
      if (!take_op(",")) break;
    }
    expect_op(")");
    expect_block_end();
    statement.body = parse_body({"endmacro"});
    ++at_;
    expect_block_end();
  }

  // a, b, c without parentheses is a list.
  ExpressionPtr parse_tuple() {
    ExpressionPtr first = parse_expression();
    if (!is_op(",")) return first;
    ExpressionPtr list = make(Kind::kList, "", std::move(first));
    while (take_op(",")) {
      if (peek().kind == Token::Kind::kBlockEnd || peek().kind == Token::Kind::kPrintEnd) break;
      list->children.push_back(parse_expression());
    }
    return list;
  }

  ExpressionPtr parse_expression() {
    const Nest nest(*this);
    ExpressionPtr value = parse_or();
    while (take_name("if")) {
      ExpressionPtr condition = parse_or();
      value = make(Kind::kCondition, "", std::move(value), std::move(condition));
      value->children.push_back(take_name("else") ? parse_expression() : nullptr);
    }
    return value;
  }
  ExpressionPtr parse_or() {
    ExpressionPtr left = parse_and();
    while (take_name("or")) left = make(Kind::kBinary, "or", std::move(left), parse_and());
    return left;
  }
  ExpressionPtr parse_and() {
    ExpressionPtr left = parse_not();
    while (take_name("and")) left = make(Kind::kBinary, "and", std::move(left), parse_not());
    return left;
  }
  ExpressionPtr parse_not() {
    if (!is_name("not") || is_name("in", 1)) return parse_compare();
    const Nest nest(*this);
    ++at_;
    return make(Kind::kUnary, "not", parse_not());
  }
  ExpressionPtr parse_compare() {
    ExpressionPtr left = parse_sum();
    ExpressionPtr chain;
    for (;;) {
      std::string op;
      for (const char* one : {"==", "!=", "<=", ">=", "<", ">"})
        if (op.empty() && take_op(one)) op = one;
      if (op.empty() && take_name("in")) op = "in";
      if (op.empty() && is_name("not") && is_name("in", 1)) {
        at_ += 2;
        op = "not in";
      }
      if (op.empty()) return chain ? std::move(chain) : std::move(left);
      if (!chain) chain = make(Kind::kCompare, "", std::move(left));
      chain->operators.push_back(op);
      chain->children.push_back(parse_sum());
    }
  }
  // Left-associative operators of one level, over the next.
  template <class Next>
  ExpressionPtr parse_level(std::initializer_list<const char*> operators, Next&& next) {
    ExpressionPtr left = next();
    for (;;) {
      const char* found = nullptr;
      for (const char* op : operators)
        if (found == nullptr && take_op(op)) found = op;
      if (found == nullptr) return left;
      left = make(Kind::kBinary, found, std::move(left), next());
    }
  }
  ExpressionPtr parse_sum() {
    return parse_level({"+", "-"}, [&] { return parse_concatenation(); });
  }
  ExpressionPtr parse_concatenation() {
    return parse_level({"~"}, [&] { return parse_product(); });
  }
  ExpressionPtr parse_product() {
    return parse_level({"*", "//", "/", "%"}, [&] { return parse_power(); });
  }
  ExpressionPtr parse_power() {
    return parse_level({"**"}, [&] { return parse_unary(true); });
  }

  ExpressionPtr parse_unary(bool with_filters) {
    const Nest nest(*this);
    ExpressionPtr value;
    if (is_op("-") || is_op("+")) {
      std::string op = next().text;
      value = make(Kind::kUnary, std::move(op), parse_unary(false));
    } else {
      value = parse_postfix(parse_primary());
    }
    return with_filters ? parse_filters(std::move(value)) : std::move(value);
  }

  ExpressionPtr parse_primary() {
    const Token token = next();
    switch (token.kind) {
      case Token::Kind::kName:
        if (token.text == "true" || token.text == "True") return literal(true);
        if (token.text == "false" || token.text == "False") return literal(false);
        if (token.text == "none" || token.text == "None") return literal(None{});
        return make(Kind::kName, token.text);
      case Token::Kind::kText: {
        std::string text = token.text;
        while (peek().kind == Token::Kind::kText) text += next().text;
        return literal(std::move(text));
      }
      case Token::Kind::kInteger:
        if (token.text.size() > 18) fail("a whole number that is too large");
        return literal(static_cast<int64_t>(std::stoll(token.text)));
      case Token::Kind::kReal: return literal(real_number(token.text));
      default: break;
    }
    if (token.text == "(") return parse_parenthesis();
    if (token.text == "[") {
      auto list = make(Kind::kList);
      while (!is_op("]")) {
        list->children.push_back(parse_expression());
        if (!take_op(",")) break;
      }
      expect_op("]");
      return list;
    }
    if (token.text == "{") {
      auto dict = make(Kind::kDict);
      while (!is_op("}")) {
        dict->children.push_back(parse_expression());
        expect_op(":");
        dict->children.push_back(parse_expression());
        if (!take_op(",")) break;
      }
      expect_op("}");
      return dict;
    }
    --at_;
    fail(fmt::format("expected a value, found '{}'", token.text));
  }
  double real_number(const std::string& text) const {
    try {
      return std::stod(text);
    } catch (const std::exception&) {
      fail(fmt::format("the number {} is out of range", text));
    }
  }
  ExpressionPtr parse_parenthesis() {
    auto list = make(Kind::kList);
    bool comma = false;
    while (!is_op(")")) {
      list->children.push_back(parse_expression());
      if (!take_op(",")) break;
      comma = true;
    }
    expect_op(")");
    const bool single = list->children.size() == 1 && !comma;
    return single ? std::move(list->children[0]) : std::move(list);
  }

  ExpressionPtr parse_postfix(ExpressionPtr value) {
    for (;;) {
      if (take_op(".")) {
        if (peek().kind == Token::Kind::kInteger) {
          auto index = literal(static_cast<int64_t>(std::stoll(next().text.substr(0, 9))));
          value = make(Kind::kIndex, "", std::move(value), std::move(index));
        } else {
          value = make(Kind::kAttribute, expect_name(), std::move(value));
        }
      } else if (take_op("[")) {
        value = parse_subscript(std::move(value));
      } else if (is_op("(")) {
        value = make(Kind::kCall, "", std::move(value));
        parse_arguments(*value);
      } else {
        return value;
      }
    }
  }

  ExpressionPtr parse_subscript(ExpressionPtr value) {
    std::vector<ExpressionPtr> parts;
    bool slice = false;
    ExpressionPtr part;
    for (;;) {
      if (take_op(":")) {
        slice = true;
        parts.push_back(std::move(part));
        part = nullptr;
      } else if (is_op("]")) {
        break;
      } else {
        if (part) fail(fmt::format("expected ']', found '{}'", peek().text));
        part = parse_expression();
      }
    }
    expect_op("]");
    parts.push_back(std::move(part));
    if (!slice) {
      if (!parts[0]) fail("expected an index");
      return make(Kind::kIndex, "", std::move(value), std::move(parts[0]));
    }
    if (parts.size() > 3) fail("a slice of more than three parts");
    parts.resize(3);
    auto node = make(Kind::kSlice, "", std::move(value));
    for (auto& one : parts) node->children.push_back(std::move(one));
    return node;
  }

  void parse_arguments(Expression& call) {
    expect_op("(");
    while (!is_op(")")) {
      if (is_op("*") || is_op("**")) fail("unpacked arguments are not supported");
      if (peek().kind == Token::Kind::kName && is_op("=", 1)) {
        std::string name = expect_name();
        ++at_;
        call.named.emplace_back(std::move(name), parse_expression());
      } else {
        call.children.push_back(parse_expression());
      }
      if (!take_op(",")) break;
    }
    expect_op(")");
  }

  ExpressionPtr parse_filters(ExpressionPtr value) {
    for (;;) {
      if (take_op("|")) {
        std::string name = expect_name();
        if (!has_filter(name)) fail(fmt::format("the filter '{}' is not supported", name));
        value = make(Kind::kFilter, std::move(name), std::move(value));
        if (is_op("(")) parse_arguments(*value);
      } else if (take_name("is")) {
        value = parse_test(std::move(value));
      } else if (is_op("(")) {
        value = make(Kind::kCall, "", std::move(value));
        parse_arguments(*value);
      } else {
        return value;
      }
    }
  }

  ExpressionPtr parse_test(ExpressionPtr value) {
    const bool negated = take_name("not");
    std::string name = expect_name();
    if (!has_test(name)) fail(fmt::format("the test '{}' is not supported", name));
    auto test = make(Kind::kTest, std::move(name), std::move(value));
    const Token::Kind kind = peek().kind;
    const bool word = kind == Token::Kind::kName && !is_name("else") && !is_name("or") &&
                      !is_name("and") && !is_name("is") && !is_name("if") && !is_name("not");
    if (is_op("(")) {
      parse_arguments(*test);
    } else if (word || kind == Token::Kind::kText || kind == Token::Kind::kInteger ||
               kind == Token::Kind::kReal || is_op("[") || is_op("{")) {
      test->children.push_back(parse_postfix(parse_primary()));
    }
    return negated ? make(Kind::kUnary, "not", std::move(test)) : std::move(test);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Body parse(std::string_view source) { return Parser(tokenize(source)).run(); }

}  // namespace glassformer::jinja
