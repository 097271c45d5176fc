#include "core/fail.hpp"
#include "data/detail/image_file.hpp"
#include "data/detail/png_file.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <png.h>

namespace troupe::data {

namespace {

/// State of libpng's callbacks: the rest of the file and the last error message.
struct PngSource {
  PngBytes rest;
  char message[128];
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof source->message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, std::size_t bytes) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (bytes > source->rest.size())
    png_error(png, "the file is truncated");
  std::memcpy(target, source->rest.data(), bytes);
  source->rest = source->rest.subspan(bytes);
}

/// Decodes between setjmp and a possible longjmp, so it owns no object with a destructor. Returns
/// false if `source` contains a message.
bool decode(png_structp png, png_infop info, PngSource& source, std::vector<std::uint8_t>& pixels,
            std::vector<std::uint8_t*>& rows) {
  if (setjmp(png_jmpbuf(png)) != 0)
    return false;
  png_set_read_fn(png, &source, on_read);
  // Skips chunks that are not needed: a text chunk of a few bytes may expand to megabytes, each
  // time.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, info);
  png_set_expand(png); // palettes and fewer than 8 bits
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const auto row_bytes = png_get_rowbytes(png, info);
  rows.resize(png_get_image_height(png, info));
  pixels.resize(row_bytes * rows.size());
  for (std::size_t y = 0; y < rows.size(); ++y)
    rows[y] = pixels.data() + y * row_bytes;
  png_read_image(png, rows.data());
  png_read_end(png, nullptr); // verifies the rest of the file
  return true;
}

/// Decodes an undamaged file. Errors do not contain the file's name.
Result<ImageView> decode_whole(PngBytes file, std::vector<std::uint8_t>& pixels) {
  PngSource source = {file, {}};
  auto* png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_error, on_warning);
  auto* info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    return fail(Errc::out_of_memory, "libpng is out of memory");
  }
  std::vector<std::uint8_t*> rows;
  const bool whole = decode(png, info, source, pixels, rows);
  const auto width = static_cast<int>(png_get_image_width(png, info));
  const auto height = static_cast<int>(png_get_image_height(png, info));
  png_destroy_read_struct(&png, &info, nullptr);
  if (!whole)
    return fail(Errc::data, "{}", source.message);
  return ImageView{pixels, height, width, 3};
}

Result<ImageView> decode_damaged(PngBytes file, std::vector<std::uint8_t>& pixels) {
  TROUPE_TRY(auto chunks, find_png_chunks(file));
  TROUPE_TRY(check_png_size(read_png_header(chunks), file.size()));
  if (chunks.damage.empty()) {
    if (auto image = decode_whole(file, pixels))
      return image;
    else
      chunks.damage = image.error().message;
  }
  TROUPE_TRY(const auto mended, mend_png(chunks));
  TROUPE_TRY(auto image, decode_whole(mended, pixels));
  image.damage = chunks.damage;
  return image;
}

} // namespace

Result<ImageView> decode_png(PngBytes file, const std::string& name,
                             std::vector<std::uint8_t>& pixels) {
  auto image = decode_damaged(file, pixels);
  if (!image)
    return fail(image.error().code, "{}: cannot be read as PNG: {}", name, image.error().message);
  return image;
}

} // namespace troupe::data
