// The language: expressions with their results, one per line.
#include <gtest/gtest.h>

#include "cel/program.h"
#include "json/json.h"

namespace kueue::cel {
namespace {

// The result as text: JSON for values with a JSON form, "error: ..." for failures.
std::string run(std::string_view expression, std::string_view self = "null") {
  Result<json::Value> document = json::parse(self);
  if (!document.ok()) return "bad document: " + document.error().message;
  auto program = compile(expression, {{"self", CelType()}});
  if (!program.ok()) return "compile: " + program.error().message;
  Arena arena;
  Value value = from_json(*document, nullptr, arena);
  Evaluation e = (*program)->evaluate({&value, 1}, arena);
  if (e.value.is_error()) return "error: " + std::string(e.value.str());
  return json::write_sorted(to_json(e.value, arena));
}

struct Case {
  const char* expression;
  const char* result;
};

void check(const std::vector<Case>& cases, std::string_view self = "null") {
  for (const Case& c : cases) EXPECT_EQ(run(c.expression, self), c.result) << c.expression;
}

TEST(CelEval, Literals) {
  check({
      {"1", "1"},
      {"-1", "-1"},
      {"0x1F", "31"},
      {"-0x10", "-16"},
      {"7u", "7"},
      {"1.5", "1.5"},
      {"-2.5e2", "-250"},
      {".5", "0.5"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"true && false", "false"},
      {"null", "null"},
      {"\"a\\tb\"", "\"a\\tb\""},
      {"'\\u00e9\\x41\\101\\U0001F600'", "\"éAA😀\""},
      {"r'a\\n'", "\"a\\\\n\""},
      {"'''a\n'b' c'''", "\"a\\n'b' c\""},
      {"\"\"\"x\"y\"\"\"", "\"x\\\"y\""},
      {"b'\\xff' == b'\\377'", "true"},
      {"R\"\\d\"", "\"\\\\d\""},
      {"[1, 2, 3,]", "[1,2,3]"},
      {"{'a': [1], 'b': [2]}", "{\"a\":[1],\"b\":[2]}"},
      {"{1: 'x'}[1]", "\"x\""},
      {"// a comment\n1 + 1", "2"},
  });
}

TEST(CelEval, Arithmetic) {
  check({
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 % 3", "-1"},
      {"7u % 4u", "3"},
      {"1.5 * 2.0", "3"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775808 - 1", "error: integer overflow"},
      {"9223372036854775807 * 2", "error: integer overflow"},
      {"-(-9223372036854775808)", "error: integer overflow"},
      {"1u - 2u", "error: unsigned integer overflow"},
      {"1 / 0", "error: division by zero"},
      {"1 % 0", "error: modulus by zero"},
      {"1.0 / 0.0 > 1e308", "true"},
      {"'a' + 'b'", "\"ab\""},
      {"[1] + [2]", "[1,2]"},
      {"!!true", "true"},
      {"--1", "1"},
      {"dyn('a') + dyn(1)", "error: no such overload"},
  });
}

TEST(CelEval, Comparison) {
  check({
      {"1 < 2", "true"},
      {"dyn(1) == dyn(1.0)", "true"},
      {"dyn(1) == 1u", "true"},
      {"1 < 1.5", "true"},
      {"9223372036854775807 < 9223372036854775808.0", "false"},
      {"9223372036854775807 < 1e19", "true"},
      {"dyn(1) == 'a'", "false"},
      {"'a' < 'b'", "true"},
      {"false < true", "true"},
      {"[1, 2] == [1, 2]", "true"},
      {"[1, 2] == [2, 1]", "false"},
      {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
      {"null == null", "true"},
      {"dyn([1]) < dyn([2])", "error: no such overload: _<_"},
      {"2 in [1, 2]", "true"},
      {"'x' in {'x': 1}", "true"},
      {"dyn(1) in [1.0]", "true"},
      {"1 in dyn(3)", "error: no such overload"},
      {"0.0 / 0.0 == 0.0 / 0.0", "false"},
  });
}

TEST(CelEval, ErrorsAreAbsorbed) {
  check({
      {"false && 1 / 0 > 0", "false"},
      {"1 / 0 > 0 && false", "false"},
      {"true || 1 / 0 > 0", "true"},
      {"1 / 0 > 0 || true", "true"},
      {"1 / 0 > 0 || false", "error: division by zero"},
      {"1 / 0 > 0 && true", "error: division by zero"},
      {"dyn(1) || true", "true"},
      {"dyn(1) || false", "error: no such overload"},
      {"true ? 1 : 1 / 0", "1"},
      {"dyn('a') ? 1 : 2", "error: no such overload"},
      {"[1, 0].exists(x, 1 / x > 0)", "true"},
      {"[0, 1].exists(x, 1 / x > 5)", "error: division by zero"},
      {"[0, 1].all(x, 1 / x > 5)", "false"},
      {"[0, 1].exists_one(x, 1 / x > 0)", "error: division by zero"},
  });
}

TEST(CelEval, Documents) {
  const char* self =
      R"({"name":"x","n":3,"f":1.5,"list":[{"a":1},{"a":2}],"labels":{"app.kubernetes.io/x":"y"},
    "namespace":"ns","__a__":1,"nothing":null})";
  check(
      {
          {"self.name", "\"x\""},
          {"self.n + 1", "4"},
          {"self['n']", "3"},
          {"self.list[1].a", "2"},
          {"self.list[2].a", "error: index out of bounds: 2"},
          {"self.list[-1]", "error: index out of bounds: -1"},
          {"self.missing", "error: no such key: missing"},
          {"self['missing']", "error: no such key: missing"},
          {"has(self.name) && !has(self.missing)", "true"},
          {"has(self.missing.deep)", "error: no such key: missing"},
          {"has(self.name.deep)", "error: no such overload"},
          {"has(self.nothing) && self.nothing == null", "true"},
          {"self.labels['app.kubernetes.io/x']", "\"y\""},
          {"self.`labels`.`app.kubernetes.io/x`", "\"y\""},
          {"self.namespace", "\"ns\""},
          {"self.__a__", "1"},
          {"size(self.list) == 2 && self.list.size() == 2", "true"},
          {"self.list.map(e, e.a)", "[1,2]"},
          {"self.list.filter(e, e.a > 1)", "[{\"a\":2}]"},
          {"self.list.map(e, e.a > 1, e.a * 10)", "[20]"},
          {"self.list.exists_one(e, e.a == 2)", "true"},
          {"self.labels.all(k, self.labels[k] == 'y')", "true"},
          {"self.list.all(i, e, e.a == i + 1)", "true"},
          {"self.labels.exists(k, v, v == 'y')", "true"},
          {"self.list.transformList(i, e, i * e.a)", "[0,2]"},
          {"self.labels.transformMap(k, v, v + 'z')", "{\"app.kubernetes.io/x\":\"yz\"}"},
          {"self.list.transformMapEntry(i, e, {string(i): e.a})", "{\"0\":1,\"1\":2}"},
          {"cel.bind(x, self.n, x * x)", "9"},
          {"self.n.size()", "error: no such overload: size"},
          {"self == self", "true"},
          {"self.list == [{'a': 1}, {'a': 2}]", "true"},
      },
      self);
}

TEST(CelEval, Optionals) {
  const char* self = R"({"a":{"b":1},"l":[5]})";
  check(
      {
          {"self.?a.?b.orValue(0)", "1"},
          {"self.?a.b.orValue(0)", "1"},
          {"self.?x.b.orValue(0)", "0"},
          {"self.?x.hasValue()", "false"},
          {"self.?a.hasValue()", "true"},
          {"self.l[?0].value()", "5"},
          {"self.l[?3].orValue(7)", "7"},
          {"self[?'a'].hasValue()", "true"},
          {"optional.none().value()", "error: optional.none() dereference"},
          {"optional.of(3).or(optional.of(4)).value()", "3"},
          {"optional.ofNonZeroValue('').hasValue()", "false"},
          {"self.?a.optMap(x, x.b + 1).value()", "2"},
          {"self.?q.optMap(x, x.b + 1).hasValue()", "false"},
          {"self.?a.optFlatMap(x, x.?b).value()", "1"},
          {"[?self.?x, ?self.?l, 1].size()", "2"},
          {"{?'k': self.?x, 'm': 1}", "{\"m\":1}"},
          {"has(self.?a.b)", "true"},
          {"optional.of(1) == optional.of(1)", "true"},
          {"optional.none() == optional.none()", "true"},
      },
      self);
}

TEST(CelEval, Conversions) {
  check({
      {"int('42')", "42"},
      {"int(dyn('x'))", "error: type conversion error from 'string' to 'int'"},
      {"int(3.9)", "3"},
      {"int(dyn(1e30))", "error: integer overflow"},
      {"uint(dyn(-1))", "error: unsigned integer overflow"},
      {"double('1.5') + double(1)", "2.5"},
      {"string(1.0)", "\"1\""},
      {"string(1000000.0)", "\"1e+06\""},
      {"string(123456.5)", "\"123456.5\""},
      {"string(true) + string(-5) + string(7u)", "\"true-57\""},
      {"string(b'abc')", "\"abc\""},
      {"string(dyn(b'\\xff'))", "error: invalid UTF-8 in bytes, cannot convert to string"},
      {"bool('true')", "true"},
      {"bool(dyn('maybe'))", "error: type conversion error from 'string' to 'bool'"},
      {"size(bytes('é'))", "2"},
      {"size('é')", "1"},
      {"type(1) == int && type('a') == string && type([]) == list && type({}) == map", "true"},
      {"type(null) == null_type && type(type(1)) == type", "true"},
      {"type(timestamp('2026-01-01T00:00:00Z')) == google.protobuf.Timestamp", "true"},
  });
}

TEST(CelEval, Time) {
  check({
      {"string(timestamp('2026-03-01T12:00:00.5+02:00'))", "\"2026-03-01T12:00:00.5+02:00\""},
      {"timestamp('2026-03-01T12:00:00Z') - timestamp('2026-03-01T11:00:00Z') == duration('1h')",
       "true"},
      {"timestamp('2026-03-01T00:00:00Z') + duration('-1s')", "\"2026-02-28T23:59:59Z\""},
      {"string(duration('1h30m'))", "\"5400s\""},
      {"string(duration('-1.5s'))", "\"-1.5s\""},
      {"duration('90m').getHours()", "1"},
      {"duration('1m').getSeconds()", "60"},
      {"duration('1m').getMilliseconds()", "60000"},
      {"timestamp('2026-03-01T12:34:56.789Z').getFullYear()", "2026"},
      {"timestamp('2026-03-01T12:34:56.789Z').getMonth()", "2"},
      {"timestamp('2026-03-01T12:34:56.789Z').getDate()", "1"},
      {"timestamp('2026-03-01T12:34:56.789Z').getDayOfMonth()", "0"},
      {"timestamp('2026-03-01T12:34:56.789Z').getDayOfWeek()", "0"},
      {"timestamp('2026-03-01T12:34:56.789Z').getDayOfYear()", "59"},
      {"timestamp('2026-03-01T12:34:56.789Z').getHours('+02:30')", "15"},
      {"timestamp('2026-03-01T12:34:56.789Z').getMilliseconds()", "789"},
      {"timestamp(0)", "\"1970-01-01T00:00:00Z\""},
      {"int(timestamp('2001-09-09T01:46:40Z'))", "1000000000"},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
      {"timestamp(dyn('2026-02-30T00:00:00Z'))",
       "error: type conversion error from 'string' to 'google.protobuf.Timestamp'"},
      {"duration(dyn('1x'))",
       "error: type conversion error from 'string' to 'google.protobuf.Duration'"},
      {"duration('1s') < duration('1m')", "true"},
  });
}

TEST(CelEval, Limits) {
  std::string deep(2000, '(');
  EXPECT_NE(run(deep + "1").find("expression recursion limit exceeded"), std::string::npos);
  std::string chain = "1";
  for (int i = 0; i < 2000; ++i) chain += "+1";
  EXPECT_NE(run(chain).find("expression recursion limit exceeded"), std::string::npos);
  std::string ors = "false";
  for (int i = 0; i < 2000; ++i) ors += "||false";
  EXPECT_EQ(run(ors), "false");
  EXPECT_NE(run(std::string(100'001, ' ')).find("expression code point size exceeds limit"),
            std::string::npos);
  std::string list = "[0,1,2,3,4,5,6,7,8,9]";
  std::string nested = "true";
  for (char v : std::string("abcdefg")) nested = list + ".all(" + v + ", " + nested + ")";
  EXPECT_EQ(run(nested), "error: operation cancelled: actual cost limit exceeded");
}

}  // namespace
}  // namespace kueue::cel
