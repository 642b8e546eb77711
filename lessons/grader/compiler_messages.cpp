#include "lessons/grader/compiler_messages.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

#include "core/io/text.hpp"

namespace tapestry::grader {

namespace {

/// A sentence and the messages that it explains. In a pattern, '*' matches any text. '$w1' matches a word (letters,
/// digits and underscores), '$t1' a type and '$o1' an operator (text without '), '$f1' a file (text without :), and
/// '$q1' text without quotation marks. In the sentence, $1 is the match of $w1, $t1, ….
struct Known {
  const char* sentence;
  std::array<std::string_view, 12> patterns;  // those of GCC first; unused ones are empty
};

// The first row with a matching pattern counts, so special cases come before general ones.
constexpr Known kKnownErrors[] = {
    {"A decimal number has a point, not a comma: write $2 in place of $1.", {"*; '$t1' is a decimal '$t2'"}},
    {"The value before this comma is not used. A decimal number has a point, as in 0.25.",
     {"left operand of comma operator has no effect*"}},
    {"C++ has no operator @: for a matrix product, write matmul(a, b).",
     {"stray '@' in program*", "expected ';' *: at '@*"}},
    {"This line begins with the name of a function, but a type is expected. The type Tensor has a capital T.",
     {"expected ';'*; then: statement cannot resolve address of overloaded function*",
      "expected ';'*; then: reference to overloaded function could not be resolved*"}},
    {"The value of this function must follow \"return\" and end with a semicolon: return …;",
     {"expected ';' before '}'*; then: no return statement in function returning non-void*",
      "expected ';' before '}'*; then: statement has no effect*",
      "expected ';' after expression*; then: expression result unused*"}},
    {"A semicolon and a closing brace } are missing before this bracket, or the bracket is one too many.",
     {"expected ';' before ')'*", "expected ';' before ']'*", "expected ';' *: at ')*",
      "expected ';' *: at ']*"}},
    {"A semicolon is missing, here or at the end of the line before.",
     {"expected ';'*", "expected ',' or ';'*"}},
    {"A comma, a semicolon or a closing bracket is missing, here or just before.",
     {"expected ','*", "expected ')'*", "expected ']'*"}},
    {"A closing brace } is missing.", {"expected '}'*"}},
    {"There is a closing brace } too many.",
     {"expected declaration before '}' token*", "extraneous closing brace*"}},
    {"\"return\" begins a statement, so a value cannot contain it. Write it once, before the value.",
     {"expected primary-expression before 'return'*", "expected expression: at 'return*"}},
    {"An operand is missing here, or there is a bracket too many.",
     {"expected primary-expression*", "expected expression*"}},
    {"A condition needs parentheses: if (…), while (…).", {"expected '(' before *", "expected '(' after '*"}},

    {"This type takes no <…>: write its name alone.",
     {"'*' is not a template*", "expected unqualified-id: at '<*"}},
    {"A name or a declaration is expected here; a brace may be missing, or one too many, just before.",
     {"expected unqualified-id*"}},
    {"A quotation mark is missing at the end of this text.", {"missing terminating *"}},
    {"This character has no meaning in C++; it may be copied from a formula, like − in place of -.",
     {"extended character * is not valid in an identifier*", "stray '*' in program*",
      "'\\U*' was not declared in this scope*", "unexpected character <*"}},
    {"A line that begins with # is a command to the compiler; a comment begins with //.",
     {"invalid preprocessing directive*"}},
    {"This number is not complete, or a letter follows it. A product needs a *, as in 2 * x.",
     {"unable to find numeric literal operator *", "too many decimal points in number*",
      "invalid suffix '*"}},
    {"A type is missing before this name.",
     {"ISO C++ forbids declaration of '*' with no type*",
      "a type specifier is required for all declarations*",
      "C++ requires a type specifier for all declarations*"}},
    {"A const variable needs a value: initialize it here.",
     {"uninitialized 'const *", "default initialization of an object of const type*"}},
    {"\"auto\" takes its type from a value: initialize the variable here.",
     {"declaration of 'auto *' has no initializer*",
      "declaration of variable '*' with deduced type '*' requires an initializer*"}},
    {"\"break\" and \"continue\" belong inside a loop.",
     {"break statement not within *", "continue statement not within *", "'break' statement not in *",
      "'continue' statement not in *"}},
    {"static assertion failed: $1",
     {"static assertion failed: $q1*", "static assertion failed due to requirement '*': $q1*",
      "static_assert failed due to requirement '*' \"$q1*"}},
    {"A loop \"for (… : …)\" needs a container after the colon, such as a std::vector.",
     {"'begin' was not declared in this scope*", "invalid range expression of type *"}},

    {"\"$1\" belongs to Python. In C++, write the function alone, such as matmul(a, b) or exp(x).",
     {"'$w1' is Python's*"}},
    {"\"$1\" is not known here; did you mean \"$2\"?",
     {"'$w1' was not declared in this scope; did you mean '$t2'?*",
      "'$w1' is not a member of '*'; did you mean '$t2'?*",
      "'$w1' does not name a type; did you mean '$t2'?*", "'$w1' has not been declared; did you mean '$t2'?*",
      "use of undeclared identifier '$w1'; did you mean '$t2'?*",
      "no member named '$w1' in namespace '*'; did you mean '$t2'?*",
      "unknown type name '$w1'; did you mean '$t2'?*", "no template named '$w1'*; did you mean '$t2'?*",
      "no type named '$w1' in *; did you mean '$t2'?*"}},
    {"\"$1\" is not known here; check its spelling.",
     {"'$w1' was not declared in this scope*", "'$w1' is not a member of *", "'$w1' does not name a type*",
      "'$w1' has not been declared*", "use of undeclared identifier '$w1'*",
      "no member named '$w1' in namespace *", "unknown type name '$w1'*", "no template named '$w1'*",
      "no type named '$w1' in *"}},
    {"The file \"$1\" is not found; check the name in #include.",
     {"$f1: No such file or directory*", "'$t1' file not found*"}},

    {"The value of this line is not used. Write \"return\" before it, or store it in a variable with =.",
     {"statement has no effect*", "value computed is not used*",
      "right operand of comma operator has no effect*", "expression result unused*",
      "*comparison result unused*", "ignoring return value of function declared *"}},
    {"This function returns nothing: a \"return\" is missing.",
     {"no return statement in function returning non-void*", "non-void function does not return a value [*"}},
    {"This function can end without a \"return\".",
     {"control reaches end of non-void function*", "non-void function does not return a value in all *",
      "non-void lambda does not return a value in all *"}},
    {"This function must return a value: write it after \"return\".",
     {"return-statement with no value*", "non-void function '*' should return a value*"}},
    {"This function returns void, so \"return\" takes no value.",
     {"return-statement with a value, in function returning 'void'*",
      "void function '*' should not return a value*"}},

    {"This would change something that is const; make a new value instead.",
     {"passing '*' as 'this' argument discards qualifiers*",
      "binding reference of type '*' discards qualifiers*",
      "'this' argument to member function * but function is not marked const*",
      "*'this' argument has type '*', but method is not marked const*", "*would lose const qualifier*",
      "binding reference of type '*' drops 'const' qualifier*"}},
    {"This is const and cannot be changed; make a new value instead.",
     {"assignment of read-only*", "increment of read-only*", "decrement of read-only*",
      "assignment of member*", "cannot assign to variable '*' with const-qualified type*",
      "cannot assign to *const member function*", "cannot assign to *const-qualified*",
      "cannot assign to return value because *const value*", "read-only variable is not assignable*"}},
    {"A value needs a name before a function can change it: store it in a variable first.",
     {"cannot bind non-const lvalue reference*", "*expects an lvalue for *",
      "non-const lvalue reference to type '*' cannot bind *"}},

    {"A call of size() names an axis: x.size(0) is the number of rows, and x.size(-1) the size of the last axis.",
     {"no matching function for call to '*::size()*", "too few arguments to *; 'size' declared here*"}},
    {"shape() takes no arguments. For the size of one axis, write x.size(axis).",
     {"no matching function for call to '*::shape(*", "too many arguments to *; 'shape' declared here*"}},
    {"This names a function but does not call it. Write parentheses with the arguments, as in x.size(0).",
     {"invalid use of non-static member function *", "cannot convert '*' from type '*)*' to type *",
      "invalid types '<unresolved overloaded function type>*",
      "reference to non-static member function must be called*"}},
    {"std::$1 takes numbers. For a Tensor, write $1(…) without std::.", {"a Tensor for std::$w1"}},
    {"This call has too few arguments.", {"too few arguments to *"}},
    {"This call has too many arguments.",
     {"too many arguments to *", "could not convert '*' from '*' to 'tapestry::CallSite'*",
      "*no known conversion from '*' to 'CallSite' for *",
      "*no known conversion * to 'tapestry::CallSite'*"}},
    {"\"$1\" does not take these arguments. Check their number, order and types.",
     {"no matching function for call to '$w1(*'*", "no matching function for call to '*::$w1(*'*",
      "no matching function for call to '$w1<*'*", "no matching function for call to '$w1'*",
      "no matching member function for call to '$w1'*",
      "no matching constructor for initialization of '$w1'*",
      "no matching constructor for initialization of '*::$w1'*"}},
    {"\"$1\" is private and cannot be used here.",
     {"'*::$w1' is private within this context*", "'$w1' is a private member of *"}},
    {"There is no member \".$1\" here; did you mean \".$2\"?",
     {"*has no member named '$w1'; did you mean '$w2'?*",
      "no member named '$w1' in '*'; did you mean '$w2'?*"}},
    {"There is no member \".T\" here; the transpose is transpose(x).",
     {"*has no member named 'T'*", "no member named 'T' in *"}},
    {"There is no member \".$1\" here. x.size(0) is the number of rows, and x.size(1) that of columns.",
     {"*has no member named '$w1'; it is a size*", "no member named '$w1' in *; it is a size*"}},
    {"There is no member \".$1\" here; it may be a function, $1(x).",
     {"*has no member named '$w1'*", "no member named '$w1' in *"}},
    {"This is a pointer: write \"->\" in place of \".\".",
     {"request for member '*which is of pointer type*", "member reference type '*' is a pointer*"}},
    {"This is a $1, which has no members.",
     {"request for member '*which is of non-class type '$t1'*",
      "member reference base type '$t1' is not a structure or union*"}},
    {"This is not a pointer: write \".\" in place of \"->\".",
     {"base operand of '->' has non-pointer type*", "member reference type '*' is not a pointer*"}},
    {"This is not a function and cannot be called. A product needs a *, as in 2 * (1 + 3).",
     {"'*' cannot be used as a function*", "expression cannot be used as a function*",
      "no match for call to '*", "called object type '*' is not a function or function pointer*",
      "type '*' does not provide a call operator*"}},
    {"A Tensor has no operator [ ]: x.at({i, j}) is an element, and slice(x, axis, begin, end) is a part.",
     {"no match for 'operator[]' (operand types are '*tapestry::Tensor'*",
      "type '*Tensor' does not provide a subscript operator*"}},
    {"This type has no operator [ ].",
     {"invalid types '*' for array subscript*", "no match for 'operator[]' *", "subscripted value is not *",
      "type '*' does not provide a subscript operator*"}},

    {"The variable on the left of this assignment does not take a value of the type on the right.",
     {"no match for 'operator=' *", "no match for 'operator+=' *", "no match for 'operator-=' *",
      "no match for 'operator/=' *", "no viable overloaded '*='*"}},
    {"A value can only be assigned to a variable; to compare two values, write ==.",
     {"lvalue required as left operand of assignment*", "expression is not assignable*"}},
    {"A function cannot be assigned. To give its value, write return …;",
     {"assignment of function '*", "non-object type '*)' is not assignable*"}},
    {"This function returns void, so its result cannot be used.",
     {"void value not ignored *", "cannot initialize *of type '*' with an rvalue of type 'void'*"}},
    {"This cannot be copied: move it with std::move, or take it by reference.",
     {"use of deleted function '*(const *&)*", "call to deleted constructor of *",
      "call to implicitly-deleted copy constructor of *"}},
    {"A $1 is not converted to a $2 automatically here; write static_cast<$2>(…).",
     {"narrowing conversion of * from '$t1' to '$t2'*", "type '$t1' cannot be narrowed to '$t2'*",
      "non-constant-expression cannot be narrowed from type '$t1' to '$t2'*"}},
    {"This is a $1, but a list in braces is needed, such as {-1} or {2, 3}.",
     {"could not convert '*' from '$t1' to 'tapestry::Dims'*", "cannot convert '$t1' to 'tapestry::Dims'*",
      "cannot convert '$t1' to 'std::initializer_list<*",
      "no viable conversion from '$t1' to 'std::initializer_list<*",
      "invalid initialization of reference of type 'const tapestry::Dims&' from expression of type '$t1'*",
      "*no known conversion from '$t1' to 'const tapestry::Dims' for *",
      "*no known conversion from '$t1' to 'const Dims' for *",
      "*no known conversion from '$t1' to 'std::initializer_list<*",
      "no known conversion for argument * from '$t1' to 'const tapestry::Dims&'*",
      "no known conversion for argument * from '$t1' to 'std::initializer_list<*"}},
    {"This is a $1, but a $2 is needed.",
     {"could not convert '*' from '$t1' to '$t2'*", "cannot convert '$t1' to '$t2'*",
      "conversion from '$t1' to non-scalar type '$t2' requested*", "invalid conversion from '$t1' to '$t2'*",
      "invalid initialization of reference of type '$t2' from expression of type '$t1'*",
      "no viable conversion from returned value of type '$t1' to *'$t2'*",
      "no viable conversion from '$t1' to *'$t2'*",
      "cannot initialize *of type '$t2' with an *value of type '$t1'*",
      "assigning to '$t2' from incompatible type '$t1'*", "*no known conversion from '$t1' to '$t2' for *",
      "no known conversion for argument * from '$t1' to '$t2'*"}},
    {"C++ has no operator for powers: write x * x or pow(x, n).",
     {"no match for 'operator^' *", "invalid operands of types * to binary 'operator^'*",
      "invalid operands to binary expression (*): operator '^'*"}},
    {"A * before a value needs a pointer. C++ has no operator ** for powers: write x * x or pow(x, n).",
     {"invalid type argument of unary '*", "indirection requires pointer operand *"}},
    {"Masks are combined with &, which allows what both allow, or with |.",
     {"no match for 'operator*' (operand types are '*Mask' and '*Mask'*",
      "invalid operands to binary expression ('*Mask' and '*Mask')*",
      "value of type '*Mask' is not contextually convertible to 'bool'*",
      "could not convert '*' from '*Mask' to 'bool'*"}},
    {"There is no \"$2 $1 $3\"; an operand has the wrong type.",
     {"no match for 'operator$o1' (operand types are '$t2' and '$t3'*",
      "invalid operands of types '$t2' and '$t3' to binary 'operator$o1'*",
      "invalid operands to binary expression ('$t2' and '$t3'): operator '$o1'*"}},
    {"There is no operator$1 for this type.",
     {"no match for 'operator$o1'*", "invalid argument type '*' to unary expression: operator '$o1'*"}},

    {"The library also has a function \"$1\"; give yours another name.",
     {"call of overloaded '$w1(*' is ambiguous*", "call to '$w1' is ambiguous*"}},
    {"Two things here are called \"$1\"; give yours another name.", {"reference to '$w1' is ambiguous*"}},
    {"\"$1\" is defined twice.",
     {"redefinition of '* $w1(*'*", "redefinition of '* $w1'*", "redeclaration of '* $w1'*",
      "conflicting declaration '* $w1'*", "declaration of '* $w1' shadows a parameter*",
      "redefinition of '$w1'*", "redefinition of '$t1'*"}},
    {"A type is declared here, but not defined: its members are not known.",
     {"aggregate '*' has incomplete type*", "invalid use of incomplete type*",
      "variable has incomplete type*", "member access into incomplete type*"}},
    {"\"$1\" is not captured by this lambda: begin it with [&].",
     {"'$w1' is not captured*", "variable '$w1' cannot be implicitly captured*"}},
    {"A function cannot be defined inside another one. A closing brace } may be missing above.",
     {"a function-definition is not allowed here*", "function definition is not allowed here*"}},
};

struct Word {
  char kind = 0;
  std::string_view text;
};
using Words = std::array<Word, 3>;  // $1, $2, $3

/// Returns the end of the text that a pattern's $ word of this kind matches from `at` on.
std::size_t end_of_word(char kind, std::string_view text, std::size_t at) {
  if (kind != 'w') {
    const char end = kind == 'f' ? ':' : kind == 'q' ? '"' : '\'';
    return std::min(text.find(end, at), text.size());
  }
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  return at;
}

/// Returns the words that the pattern's $ words match, or nothing if the message does not match. It takes time linear
/// in the message for each '*' and does not recurse, since messages of 60 KB occur.
std::optional<Words> words_of_match(std::string_view pattern, std::string_view text) {
  Words words;
  std::size_t p = 0, at = 0, star = std::string_view::npos, star_at = 0;
  while (true) {
    if (p == pattern.size() && at == text.size()) return words;
    bool goes_on = false;
    if (p < pattern.size() && pattern[p] == '*') {
      if (p + 1 == pattern.size()) return words;
      star = ++p, star_at = at;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '$') {
      const std::size_t end = end_of_word(pattern[p + 1], text, at);
      goes_on = end > at;
      words[static_cast<std::size_t>(pattern[p + 2] - '1')] = {pattern[p + 1], text.substr(at, end - at)};
      p += 3, at = end;
    } else if (p < pattern.size() && at < text.size() && pattern[p] == text[at]) {
      goes_on = true;
      ++p, ++at;
    }
    if (goes_on) continue;
    // Backtrack to the last '*', which takes one more character.
    if (star == std::string_view::npos || star_at >= text.size()) return std::nullopt;
    p = star, at = ++star_at;  // words after it are matched anew
  }
}

/// Removes the second names of types: 'Size' {aka 'long int'} of GCC and 'Size' (aka 'long') of Clang become 'Size'.
/// A name that says little, such as value_type or remove_reference<…>::type, gives way to the second name.
std::string without_aka(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t begin = std::min(text.find("' {aka '"), text.find("' (aka '"));
    const std::size_t end =
        begin == text.npos ? begin : text.find(text[begin + 2] == '{' ? "'}" : "')", begin + 1);
    if (end == text.npos) return out.append(text);
    out.append(text.substr(0, begin));
    const std::size_t name = out.rfind('\'');
    if (name != out.npos && (out.ends_with("_type") || out.ends_with("::type")))
      out.replace(name + 1, out.npos, text.substr(begin + 8, end - begin - 8));
    out += '\'';
    text.remove_prefix(end + 2);
  }
}

/// Returns a type as it is named in a sentence, the same for both compilers: 'const Tensor&' is a Tensor. The type of
/// a literal text is a C string.
std::string type_name(std::string_view type) {
  while (type.ends_with('&') || type.ends_with(' ')) type.remove_suffix(1);
  for (const char* text : {"const char*", "const char *", "const char [", "const char["})
    if (type.starts_with(text) && (type.ends_with(']') || type == text)) return "C string";
  if (type.starts_with("const ") && !type.ends_with('*')) type.remove_prefix(6);
  return shortened(std::string(type));
}

}  // namespace

std::string shortened(const std::string& text) {
  std::string plain = text.substr(0, 4000);
  for (const auto& [from, to] : {std::pair{"tapestry::grader::", ""},
                                 {"tapestry::", ""},
                                 {"std::__cxx11::", "std::"},
                                 {"std::basic_string<char>", "std::string"}})
    for (std::size_t at; (at = plain.find(from)) != std::string::npos;)
      plain.replace(at, std::strlen(from), to);
  return printable(plain, 400);
}

std::string known_error(std::string_view message) {
  const std::string text = without_aka(message);
  for (const Known& known : kKnownErrors)
    for (const std::string_view pattern : known.patterns) {
      if (pattern.empty()) break;
      const auto words = words_of_match(pattern, text);
      if (!words) continue;
      std::string sentence;
      for (const char* c = known.sentence; *c != 0; ++c) {
        if (*c != '$') {
          sentence += *c;
          continue;
        }
        const Word& word = (*words)[static_cast<std::size_t>(*++c - '1')];
        const std::string name = word.kind == 't' ? type_name(word.text) : shortened(std::string(word.text));
        const bool vowel = std::string_view("aeioAEIO").find(name[0]) != std::string_view::npos;
        if (vowel && (sentence.ends_with(" a ") || sentence == "A "))
          sentence.insert(sentence.size() - 1, "n");
        sentence += name;
      }
      return sentence;
    }
  return "";
}

}  // namespace tapestry::grader
