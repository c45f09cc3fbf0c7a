// Kubernetes' libraries: expressions with their results.
#include <gtest/gtest.h>

#include "cel/program.h"
#include "json/json.h"

namespace kueue::cel {
namespace {

std::string run(std::string_view expression) {
  auto program = compile(expression, {});
  if (!program.ok()) return "compile: " + program.error().message;
  Arena arena;
  Evaluation e = (*program)->evaluate({}, arena);
  if (e.value.is_error()) return "error: " + std::string(e.value.str());
  return json::write_sorted(to_json(e.value, arena));
}

struct Case {
  const char* expression;
  const char* result;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(run(c.expression), c.result) << c.expression;
}

TEST(CelLibrary, Strings) {
  check({
      {"'tacocat'.charAt(3)", "\"o\""},
      {"'é'.charAt(1)", "\"\""},
      {"'abc'.charAt(4)", "error: index out of range: 4"},
      {"'hello mellow'.indexOf('ello', 2)", "7"},
      {"'éa'.indexOf('a')", "1"},
      {"'hello'.indexOf('jello')", "-1"},
      {"'hello mellow'.lastIndexOf('ello')", "7"},
      {"'hello mellow'.lastIndexOf('ello', 6)", "1"},
      {"'TacoCat'.lowerAscii() + 'TacoCat'.upperAscii()", "\"tacocatTACOCAT\""},
      {"'hello hello'.replace('he', 'we')", "\"wello wello\""},
      {"'hello hello'.replace('he', 'we', 1)", "\"wello hello\""},
      {"'ab'.replace('', '-')", "\"-a-b-\""},
      {"'a,b,c'.split(',')", "[\"a\",\"b\",\"c\"]"},
      {"'a,b,c'.split(',', 2)", "[\"a\",\"b,c\"]"},
      {"'a,b'.split(',', 0)", "[]"},
      {"'aé'.split('')", "[\"a\",\"é\"]"},
      {"['a', 'b'].join('-') + ['a', 'b'].join()", "\"a-bab\""},
      {"'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", "\"cattaco\""},
      {"'tacocat'.substring(4, 3)", "error: invalid substring range. start: 4, end: 3"},
      {"' \\t x \\u00a0'.trim()", "\"x\""},
      {"'a'.startsWith('a') && 'ab'.endsWith('b') && 'abc'.contains('b')", "true"},
      {"'%s is %d, %.2f, %x, %X, %o, %b %%'.format(['a', 5, 12345.5, 255, 255, 8, 5])",
       "\"a is 5, 12,345.50, ff, FF, 10, 101 %\""},
      {"'%e'.format([0.00123])", "\"1.230000×10⁻⁰³\""},
      {"'%s'.format([[dyn(1), dyn('a'), dyn({'k': true}), dyn(1.5)]])",
       "\"[1, \\\"a\\\", {\\\"k\\\":true}, 1.500000]\""},
      {"'%s'.format([])", "error: index 0 out of range"},
      {"'%d'.format(['a'])",
       "error: error during formatting: decimal clause can only be used on integers, was given "
       "string"},
      {"strings.quote('a\"b\\n')", "\"\\\"a\\\\\\\"b\\\\n\\\"\""},
  });
}

TEST(CelLibrary, Regex) {
  check({
      {"'abc 123'.find('[0-9]+')", "\"123\""},
      {"'abc'.find('[0-9]+')", "\"\""},
      {"'123 abc 456'.findAll('[0-9]+')", "[\"123\",\"456\"]"},
      {"'123 abc 456'.findAll('[0-9]+', 1)", "[\"123\"]"},
      {"'abc'.matches('^a.c$') && matches('abc', 'b')", "true"},
      {"'abc'.matches('a' + '(')", "error: error parsing regexp: missing closing ): `a(`"},
  });
}

TEST(CelLibrary, ListsAndSets) {
  check({
      {"[1, 2, 2].isSorted() && !['b', 'a'].isSorted()", "true"},
      {"[1, 2].sum()", "3"},
      {"[1.5, 2.0].sum()", "3.5"},
      {"[duration('1m'), duration('1s')].sum() == duration('61s')", "true"},
      {"[3, 1, 2].min() * 10 + [3, 1, 2].max()", "13"},
      {"lists.range(3)", "[0,1,2]"},
      {"[[1], [2, 3]].flatten()", "[1,2,3]"},
      {"[[[1]], [[2]]].flatten(2)", "[1,2]"},
      {"[3, 1, 2].sort() + ['b', 'a'].sortBy(x, x).map(x, size(x))", "[1,2,3,1,1]"},
      {"[1, 2, 1].distinct()", "[1,2]"},
      {"[1, 2, 3].slice(1, 3)", "[2,3]"},
      {"[1, 2, 3].slice(1, 4)", "error: cannot slice(1, 4), list is length 3"},
      {"[1, 2].reverse()", "[2,1]"},
      {"[1, 2].first().value() + [1, 2].last().value()", "3"},
      {"[].max()", "error: max called on empty list"},
      {"['a', 'b', 'b'].indexOf('b') * 10 + ['a', 'b', 'b'].lastIndexOf('b')", "12"},
      {"sets.contains([1, 2, 3], [2])", "true"},
      {"sets.equivalent([1, 2], [2, 1, 1])", "true"},
      {"sets.intersects([1], [2])", "false"},
  });
}

TEST(CelLibrary, Quantity) {
  check({
      {"quantity('1Gi').isGreaterThan(quantity('1G'))", "true"},
      {"quantity('500m').compareTo(quantity('0.5'))", "0"},
      {"quantity('1').isLessThan(quantity('2'))", "true"},
      {"quantity('1k').add(quantity('500')).add(1).asInteger()", "1501"},
      {"quantity('1').sub(quantity('500m')).asApproximateFloat()", "0.5"},
      {"quantity('500m').isInteger()", "false"},
      {"quantity('500m').asInteger()", "error: cannot convert value to integer"},
      {"sign(quantity('-5'))", "-1"},
      {"isQuantity('5Mi') && !isQuantity('5Mo')", "true"},
      {"quantity('1000m') == quantity('1')", "true"},
      {"sign(quantity('1'))", "1"},
  });
}

TEST(CelLibrary, Network) {
  check({
      {"isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0.01') && !isIP('::ffff:1.2.3.4')", "true"},
      {"ip('10.0.0.1').family() + ip('::1').family()", "10"},
      {"ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && "
       "ip('fe80::1').isLinkLocalUnicast()",
       "true"},
      {"ip('8.8.8.8').isGlobalUnicast()", "true"},
      {"ip.isCanonical('2001:DB8::1')", "false"},
      {"string(ip('2001:DB8::1'))", "\"2001:db8::1\""},
      {"cidr('10.0.0.0/8').containsIP('10.1.2.3') && "
       "!cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
       "true"},
      {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && "
       "!cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')",
       "true"},
      {"string(cidr('10.1.2.3/8').masked()) + ' ' + string(cidr('10.1.2.3/8').ip())",
       "\"10.0.0.0/8 10.1.2.3\""},
      {"cidr('10.0.0.0/8').prefixLength()", "8"},
      {"isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0')", "false"},
      {"url('https://u@example.com:80/a%20b?k=1&k=2&l').getHost()", "\"example.com:80\""},
      {"url('https://[::1]:80/').getHostname() + url('https://[::1]:80/').getPort()", "\"::180\""},
      {"url('https://example.com/a b').getEscapedPath()", "\"/a%20b\""},
      {"url('https://example.com/?k=1&k=2&l').getQuery()", "{\"k\":[\"1\",\"2\"],\"l\":[\"\"]}"},
      {"isURL('/path') && !isURL('path') && isURL('https://a') && !isURL('../x')", "true"},
      {"url('https://a:80/').getScheme()", "\"https\""},
  });
}

TEST(CelLibrary, FormatSemverMath) {
  check({
      {"format.dns1123Label().validate('a-b').hasValue()", "false"},
      {"format.dns1123Label().validate('A').value().size()", "1"},
      {"format.named('labelValue').value().validate('*').hasValue()", "true"},
      {"format.named('nope').hasValue()", "false"},
      {"format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", "false"},
      {"format.dns1035LabelPrefix().validate('a-').hasValue()", "false"},
      {"semver('1.2.3').isLessThan(semver('1.10.0'))", "true"},
      {"semver('1.2.3-rc.1').compareTo(semver('1.2.3'))", "-1"},
      {"semver('v1.2', true).minor()", "2"},
      {"isSemver('1.2') || isSemver('01.2.3')", "false"},
      {"math.greatest(1, 2.5, 2u) == 2.5 && math.least([3, 1]) == 1", "true"},
      {"math.ceil(1.2) + math.floor(1.8) + math.round(0.5)", "4"},
      {"math.bitAnd(6, 3) + math.bitOr(6, 3) + math.bitXor(6, 3) + math.bitShiftLeft(1, 4)", "30"},
      {"math.abs(-3) + math.sign(-3)", "2"},
  });
}

}  // namespace
}  // namespace kueue::cel
