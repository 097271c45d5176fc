#include "detail/image_file.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h> // needs <cstdio>

namespace troupe::data {

namespace {

/// libjpeg's error handler, with a way back into our code and what it complained of.
struct JpegErrors {
  jpeg_error_mgr base; // first, so that libjpeg's pointer to it is a pointer to this
  std::jmp_buf escape;
  bool truncated;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

/// libjpeg only warns of missing data and goes on with grey; other warnings are harmless.
void on_message(j_common_ptr info, int level) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  const auto code = errors->base.msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    errors->truncated = true;
}

/// Called while a file of several scans is read.
void on_progress(j_common_ptr info) {
  auto* const decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= max_jpeg_scans)
    return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", max_jpeg_scans);
  std::longjmp(errors->escape, 1);
}

/// Inverted CMYK, as Adobe writes it, in place to red, green and blue.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + c] * cmyk[4 * i + 3] / 255);
}

/// Everything between setjmp and a longjmp; holds nothing that needs a destructor. False: see
/// errors.
bool decode(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::uint8_t> file,
            jpeg_progress_mgr& progress, std::vector<std::uint8_t>& pixels,
            std::vector<std::uint8_t>& cmyk) {
  if (setjmp(errors.escape) != 0)
    return false;
  jpeg_create_decompress(&info);
  info.progress = &progress;
  jpeg_mem_src(&info, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  if (std::uint64_t{info.image_width} * info.image_height > max_image_pixels) {
    std::snprintf(errors.message, sizeof errors.message, "%u x %u pixels are too many",
                  info.image_width, info.image_height);
    return false;
  }
  const bool four = info.num_components == 4;
  info.out_color_space = four ? JCS_CMYK : JCS_RGB;
  const auto width = std::size_t{info.image_width};
  pixels.resize(width * info.image_height * 3);
  cmyk.resize(four ? width * 4 : 0);
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height && !errors.truncated) {
    auto* row = pixels.data() + info.output_scanline * width * 3;
    JSAMPROW target = four ? cmyk.data() : row;
    jpeg_read_scanlines(&info, &target, 1);
    if (four)
      cmyk_to_rgb(cmyk.data(), row, width);
  }
  if (!errors.truncated)
    jpeg_finish_decompress(&info);
  return true;
}

} // namespace

Result<ImageView> decode_jpeg(std::span<const std::uint8_t> file, const std::string& name,
                              std::vector<std::uint8_t>& pixels) {
  JpegErrors errors = {};
  jpeg_decompress_struct info = {};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = on_message;
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = on_progress;
  std::vector<std::uint8_t> cmyk;
  const bool whole = decode(info, errors, file, progress, pixels, cmyk);
  const auto width = static_cast<int>(info.output_width),
             height = static_cast<int>(info.output_height);
  jpeg_destroy_decompress(&info);
  if (!whole)
    return fail(Errc::data, "{}: cannot be read as JPEG: {}", name, errors.message);
  if (errors.truncated)
    return fail(Errc::data, "{}: the JPEG data end early: the file is truncated or damaged", name);
  return ImageView{pixels, height, width, 3};
}

} // namespace troupe::data
