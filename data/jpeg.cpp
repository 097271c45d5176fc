#include "core/fail.hpp"
#include "data/detail/image_file.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h> // needs <cstdio>

namespace troupe::data {

namespace {

/// libjpeg's error handler, with a jump target for our code and libjpeg's first warning.
struct JpegErrors {
  jpeg_error_mgr base; // first, so that libjpeg's pointer to it is a pointer to this
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  char warning[JMSG_LENGTH_MAX]; ///< empty if there is none
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

/// Stores the first warning. Negative levels are warnings about damaged data, which libjpeg
/// replaces; others are traces.
void on_message(j_common_ptr info, int level) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  if (level < 0 && errors->warning[0] == '\0')
    errors->base.format_message(info, errors->warning);
}

/// Fails if a file has too many scans. libjpeg calls it while it reads a file of several scans.
void on_progress(j_common_ptr info) {
  auto* const decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= max_jpeg_scans)
    return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", max_jpeg_scans);
  std::longjmp(errors->escape, 1);
}

/// Returns a source for a file in memory. libjpeg stops at its end, as in Pillow. libjpeg's default
/// memory source would insert an end marker, and the rest of the image would be grey.
jpeg_source_mgr source_of(std::span<const std::uint8_t> file) {
  jpeg_source_mgr source = {};
  source.next_input_byte = file.data();
  source.bytes_in_buffer = file.size();
  source.init_source = [](j_decompress_ptr) {};
  source.fill_input_buffer = [](j_decompress_ptr) -> boolean { return FALSE; };
  source.skip_input_data = [](j_decompress_ptr info, long bytes) {
    const auto skipped =
        std::min(static_cast<std::size_t>(std::max(bytes, 0L)), info->src->bytes_in_buffer);
    info->src->next_input_byte += skipped;
    info->src->bytes_in_buffer -= skipped;
  };
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = [](j_decompress_ptr) {};
  return source;
}

/// Converts Adobe's inverted CMYK to red, green and blue, rounded like Pillow's convert("RGB").
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned light = cmyk[4 * i + 3];
      const unsigned product = (255u - cmyk[4 * i + c]) * light + 128u;
      rgb[3 * i + c] = static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
    }
}

bool cut_short(JpegErrors& errors) {
  std::snprintf(errors.message, sizeof errors.message, "the file is truncated");
  return false;
}

/// Decodes between setjmp and a possible longjmp, so it owns no object with a destructor. Returns
/// false if `errors` contains a message.
bool decode(jpeg_decompress_struct& info, JpegErrors& errors, jpeg_source_mgr& source,
            jpeg_progress_mgr& progress, std::vector<std::uint8_t>& pixels,
            std::vector<std::uint8_t>& cmyk) {
  if (setjmp(errors.escape) != 0)
    return false;
  jpeg_create_decompress(&info);
  info.progress = &progress;
  info.src = &source;
  if (jpeg_read_header(&info, TRUE) == JPEG_SUSPENDED)
    return cut_short(errors);
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
  if (!jpeg_start_decompress(&info))
    return cut_short(errors);
  while (info.output_scanline < info.output_height) {
    auto* row = pixels.data() + info.output_scanline * width * 3;
    JSAMPROW target = four ? cmyk.data() : row;
    if (jpeg_read_scanlines(&info, &target, 1) == 0)
      return cut_short(errors);
    if (four)
      cmyk_to_rgb(cmyk.data(), row, width);
  }
  return jpeg_finish_decompress(&info) || cut_short(errors);
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
  auto source = source_of(file);
  std::vector<std::uint8_t> cmyk;
  const bool whole = decode(info, errors, source, progress, pixels, cmyk);
  const auto width = static_cast<int>(info.output_width),
             height = static_cast<int>(info.output_height);
  jpeg_destroy_decompress(&info);
  if (!whole)
    return fail(Errc::data, "{}: cannot be read as JPEG: {}", name, errors.message);
  return ImageView{pixels, height, width, 3, errors.warning};
}

} // namespace troupe::data
