#include "apiserver/openapi_documents.h"

#include "wire/status.h"

namespace kueue::apiserver {

void OpenApiDocuments::serve(Call& call) {
  reply_error(call,
              make_error(ErrorCode::kNotFound, "the server could not find the requested resource"));
}

std::string OpenApiDocuments::document(const Catalog&, std::string_view) { return {}; }

}  // namespace kueue::apiserver
