#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace glassformer::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kLiteral,    // value
    kName,       // text
    kList,       // children
    kDict,       // children: key, value, key, value, ...
    kAttribute,  // children[0].text
    kIndex,      // children[0][children[1]]
    kSlice,      // children[0][children[1]:children[2]:children[3]], each of the last may be null
    kCall,       // children[0](children[1...], named)
    kFilter,     // children[0]|text(children[1...], named)
    kTest,       // children[0] is text(children[1...])
    kUnary,      // text children[0]: - + not
    kBinary,     // children[0] text children[1]
    kCompare,    // children[0] operators[0] children[1] operators[1] ...
    kCondition,  // children[0] if children[1] else children[2], which may be null
  };
  Kind kind;
  size_t line = 0;
  std::string text;
  Value value;
  std::vector<ExpressionPtr> children;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> operators;
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind {
    kText,      // text
    kPrint,     // expression
    kFor,       // names in expression if condition: body, otherwise
    kIf,        // expression: body, otherwise
    kSet,       // names = expression, or names[0].text = expression
    kSetBlock,  // names[0] = what body writes
    kMacro,     // text(names, defaults): body
    kScope,     // body, which is only marked: {% generation %}
    kBreak,
    kContinue,
  };
  Kind kind;
  size_t line = 0;
  std::string text;
  std::vector<std::string> names;
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<ExpressionPtr> defaults;  // of the last names
  Body body;
  Body otherwise;
};

// Throws FileError for what does not parse, and for a statement, filter or test that is not known.
Body parse(std::string_view source);

// Whether there is a filter, or a test, of this name.
bool has_filter(std::string_view name);
bool has_test(std::string_view name);

}  // namespace glassformer::jinja
