// get and list.
#include <algorithm>
#include <charconv>
#include <map>

#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "apiserver/filter.h"
#include "apiserver/json_scan.h"
#include "apiserver/rest.h"
#include "apiserver/table.h"
#include "apiserver/view.h"
#include "json/json.h"

namespace kueue::apiserver {

Result<uint64_t> parse_revision(std::string_view text) {
  uint64_t n = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failure != std::errc() || end != text.data() + text.size())
    return make_error(ErrorCode::kBadRequest,
                      "invalid resource version: resourceVersion: Invalid value: \"" +
                          std::string(text) + "\": strconv.ParseUint: parsing \"" +
                          std::string(text) + "\": invalid syntax");
  return n;
}

Error too_large_revision(uint64_t wanted, uint64_t current) {
  Error error = make_error(ErrorCode::kTimeout,
                           "Timeout: Too large resource version: " + std::to_string(wanted) +
                               ", current: " + std::to_string(current));
  error.causes.push_back(
      {.reason = "ResourceVersionTooLarge", .message = "Too large resource version", .field = ""});
  error.retry_after_seconds = 1;
  return error;
}

Error list_options_error(std::string_view reason, std::string message) {
  Error error =
      make_error(ErrorCode::kInvalid,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: " + message);
  error.group = "meta.k8s.io";
  error.kind = "ListOptions";
  error.causes.push_back({.reason = std::string(reason),
                          .message = std::move(message),
                          .field = "resourceVersionMatch"});
  return error;
}

namespace {

void get_now(Call& call) {
  Core& core = *call.core;
  const std::string_view version = call.request.query_value("resourceVersion");
  if (!version.empty()) {
    const auto wanted = parse_revision(version);
    if (!wanted.ok()) return reply_error(call, wanted.error());
    if (*wanted > core.store->revision())
      return reply_error(call, too_large_revision(*wanted, core.store->revision()));
  }
  const StoredPtr stored =
      core.store->get(call.resource().collection, object_key(call.path.namespace_, call.path.name));
  if (stored == nullptr) return reply_error(call, call.not_found(call.path.name));
  auto text = object_text(core, *call.served, *stored);
  if (!text.ok()) return reply_error(call, text.error());
  if (call.output.form == Output::Form::kTable) {
    const auto include = row_object(call);
    if (!include.ok()) return reply_error(call, include.error());
    const std::string metadata =
        "{\"resourceVersion\":\"" + std::to_string(stored->revision) + "\"}";
    return reply_bytes(
        call, table_head(call.output.version, metadata, column_definitions(*call.served)) +
                  table_row(*call.served, *text, *include, call.output.version, core.now()) + "]}");
  }
  if (call.output.form == Output::Form::kPartial)
    return reply_bytes(call, partial_text(*text, call.output.version));
  reply_bytes(call, std::move(text).value());
}

struct Continue {
  uint64_t revision = 0;
  std::string start;
};

Result<Continue> decode_continue(std::string_view token) {
  const auto bad = [](std::string_view why) {
    return make_error(ErrorCode::kBadRequest,
                      "invalid continue token: continue key is not valid: " + std::string(why));
  };
  const auto text = base64url_decode(token);
  if (!text) return bad("illegal base64 data");
  const auto parsed = json::parse(*text);
  if (!parsed.ok() || !parsed->is_object()) return bad("not a token of this server");
  if (parsed->get_string({"v"}) != "meta.k8s.io/v1") return bad("server does not recognize it");
  Continue c;
  c.revision = static_cast<uint64_t>(parsed->get_int({"rv"}));
  c.start = parsed->get_string({"start"});
  if (c.start.empty()) return bad("start is missing");
  return c;
}

std::string encode_continue(const Continue& c) {
  return base64url_encode(json::write(json::Value::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", static_cast<int64_t>(c.revision)}, {"start", c.start}})));
}

Error expired_continue() {
  return make_error(ErrorCode::kExpired,
                    "The provided continue parameter is too old to display a consistent list "
                    "result. You must start a new list without the continue parameter.");
}

// `items` with some of them, or of those between them, as they were `before`.
std::vector<Store::Item> rewound(std::vector<Store::Item> items,
                                 const std::map<std::string, Version>& before) {
  std::vector<Store::Item> result;
  const auto add = [&](const auto& old) {
    if (old.second.exists()) result.push_back({old.first, old.second});
  };
  auto b = before.begin();
  for (Store::Item& item : items) {
    for (; b != before.end() && b->first < item.key; ++b) add(*b);
    if (b != before.end() && b->first == item.key)
      add(*b++);
    else
      result.push_back(std::move(item));
  }
  for (; b != before.end(); ++b) add(*b);
  return result;
}

struct ListRequest {
  uint64_t exact = 0;  // 0 = now
  std::string start;   // first key
  size_t limit = 0;
};

Result<ListRequest> parse_list(Call& call) {
  ListRequest list;
  const std::string_view version = call.request.query_value("resourceVersion");
  const std::string_view match = call.request.query_value("resourceVersionMatch");
  const std::string_view token = call.request.query_value("continue");
  const std::string_view limit = call.request.query_value("limit");
  if (!limit.empty()) {
    const int64_t n = std::strtoll(std::string(limit).c_str(), nullptr, 10);
    list.limit = n < 0 ? 0 : static_cast<size_t>(n);
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan")
    return list_options_error("FieldValueNotSupported",
                              "Unsupported value: \"" + std::string(match) +
                                  "\": supported values: \"\", \"Exact\", \"NotOlderThan\"");
  if (!match.empty() && version.empty())
    return list_options_error("FieldValueForbidden",
                              "Forbidden: resourceVersionMatch is forbidden unless "
                              "resourceVersion is provided");
  if (!token.empty()) {
    if (!version.empty() && version != "0")
      return make_error(ErrorCode::kBadRequest,
                        "specifying resource version is not allowed when using continue");
    KUEUE_ASSIGN(Continue c, decode_continue(token));
    list.exact = c.revision;
    list.start = std::move(c.start);
    return list;
  }
  if (version.empty() || version == "0") {
    if (match == "Exact")
      return list_options_error("FieldValueForbidden",
                                "Forbidden: resourceVersionMatch \"Exact\" is forbidden for "
                                "resourceVersion \"0\"");
    return list;
  }
  KUEUE_ASSIGN(const uint64_t wanted, parse_revision(version));
  const uint64_t now = call.core->store->revision();
  if (wanted > now) return too_large_revision(wanted, now);
  if (match == "Exact" || (match.empty() && list.limit > 0)) list.exact = wanted;
  return list;
}

std::string list_metadata(uint64_t revision, const std::string& token, size_t remaining) {
  std::string text = "{\"resourceVersion\":\"" + std::to_string(revision) + "\"";
  if (!token.empty()) {
    text += ",\"continue\":\"" + token + "\"";
    if (remaining > 0) text += ",\"remainingItemCount\":" + std::to_string(remaining);
  }
  return text + "}";
}

void send_list(Call& call, const Store::Items& items, const std::string& metadata) {
  Core& core = *call.core;
  std::string body;
  size_t total = 0;
  for (const Store::Item& item : items.list) total += item.version.text_size() + 1;
  body.reserve(total + 256);
  const bool table = call.output.form == Output::Form::kTable;
  const bool partial =
      call.output.form == Output::Form::kPartialList || call.output.form == Output::Form::kPartial;
  RowObject include = RowObject::kMetadata;
  if (table) {
    auto wanted = row_object(call);
    if (!wanted.ok()) return reply_error(call, wanted.error());
    include = *wanted;
    body = table_head(call.output.version, metadata, column_definitions(*call.served));
  } else if (partial) {
    body = "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/" +
           call.output.version + "\",\"metadata\":" + metadata + ",\"items\":[";
  } else {
    body = "{\"kind\":\"" + list_kind(*call.served) + "\",\"apiVersion\":\"" +
           call.served->api_version + "\",\"metadata\":" + metadata + ",\"items\":[";
  }
  const Instant now = core.now();
  bool first = true;
  for (const auto& [key, stored] : items) {
    if (!first) body += ',';
    first = false;
    auto text = object_text(core, *call.served, *stored);
    if (!text.ok()) return reply_error(call, text.error());
    if (table)
      body += table_row(*call.served, *text, include, call.output.version, now);
    else if (partial)
      body += partial_text(*text, call.output.version);
    else
      body += *text;
  }
  body += "]}";
  reply_bytes(call, std::move(body));
}

// The part of the collection that the request may show, as it was at the version asked for.
Result<Store::Page> find_page(Core& core, const std::string& collection, const Filter& filter,
                              const ListRequest& request) {
  const size_t limit = filter.matches_all() ? request.limit : 0;
  Store::Page page = core.store->snapshot(collection, filter.prefix(), request.start, limit);
  if (request.exact == 0 || request.exact == page.revision) return page;
  const auto expired = [&] {
    return !request.start.empty()
               ? expired_continue()
               : make_error(ErrorCode::kExpired,
                            "The resourceVersion for the provided list is too old.");
  };
  auto before = core.hub.before(collection, filter.prefix(), request.exact);
  if (!before) return expired();
  if (!before->empty()) {
    page = core.store->snapshot(collection, filter.prefix(), request.start);
    before = core.hub.before(collection, filter.prefix(), request.exact);
    if (!before) return expired();
    before->erase(before->begin(), before->lower_bound(request.start));
    page.items.list = rewound(std::move(page.items.list), *before);
  }
  page.revision = request.exact;
  return page;
}

void list_now(Call& call) {
  Core& core = *call.core;
  const auto filter = Filter::parse(call);
  if (!filter.ok()) return reply_error(call, filter.error());
  const auto request = parse_list(call);
  if (!request.ok()) return reply_error(call, request.error());
  auto page = find_page(core, call.resource().collection, *filter, *request);
  if (!page.ok()) return reply_error(call, page.error());
  const bool everything = filter->matches_all();
  const auto shown = [&](const Store::Item& item) {
    return everything || filter->matches(item.key, item.version.open()->bytes);
  };
  Store::Items items;
  size_t remaining = 0;
  std::string token;
  const std::vector<Store::Item>& candidates = page->items.list;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Store::Item& item = candidates[i];
    if (!shown(item)) continue;
    if (request->limit == 0 || items.size() < request->limit) {
      items.list.push_back(item);
      continue;
    }
    token = encode_continue({.revision = page->revision, .start = item.key});
    // As in Kubernetes, the count is only given for lists without selectors.
    if (everything) remaining = candidates.size() - i;
    break;
  }
  if (page->more > 0) {
    token = encode_continue({.revision = page->revision, .start = page->next});
    remaining = page->more;
  }
  send_list(call, items, list_metadata(page->revision, token, remaining));
}

}  // namespace

void rest_get(const CallPtr& call) {
  if (conversion_blocks(*call->core, call->resource()))
    return call->core->workers.run([call] { get_now(*call); });
  get_now(*call);
}

void rest_list(const CallPtr& call) {
  if (conversion_blocks(*call->core, call->resource()))
    return call->core->workers.run([call] { list_now(*call); });
  list_now(*call);
}

}  // namespace kueue::apiserver
