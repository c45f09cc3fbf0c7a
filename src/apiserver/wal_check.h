// Tells a write-ahead log of SQLite that the disk has changed from one that a crash cut short.
// SQLite takes both up to the first wrong frame and drops the rest without a word. Only functions.
#pragma once

#include <string_view>

namespace kueue::apiserver {

// `log` is the file's content, "" when there is none. Every transaction is on the disk before the
// next one begins, so a crash can spoil no more than the last one: true when a frame is wrong and
// more than one transaction ends behind it, or the head is wrong and frames follow. O(size).
bool log_is_damaged(std::string_view log);

}  // namespace kueue::apiserver
