// A wire::Transport straight into a wire::Handler of the same process: no sockets, no TLS, no HTTP.
// What the playground's manager and stand-ins use to reach the embedded server.
//
// Thread safe. round_trip() calls the handler on the calling thread; streams are delivered by one
// thread of the transport.
#pragma once

#include <memory>

#include "wire/http.h"

namespace kueue::app {

// `identity` is who the requests come from; the handler must outlive the transport and every
// handle. Closing a handle waits for a call to its receiver that runs at that moment, unless the
// receiver itself closes it.
std::shared_ptr<wire::Transport> make_in_process_transport(wire::Handler& handler,
                                                           wire::Identity identity);

}  // namespace kueue::app
