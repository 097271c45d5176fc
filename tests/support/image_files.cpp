#include "tests/support/image_files.hpp"

#include <cstdio>
#include <jpeglib.h> // needs <cstdio>
#include <png.h>
#include <stdexcept>
#include <webp/encode.h>
#include <zlib.h>

namespace troupe::testing {

Bytes gzip(const Bytes& bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  Bytes packed(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in = const_cast<Bytef*>(bytes.data()); // zlib does not write to it
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
    throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Bytes pattern(int height, int width, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<std::uint8_t>((37 * y + 11 * x + 83 * c + x * y) % 256));
  return pixels;
}

namespace {

void save_png(const std::filesystem::path& path, png_image& image, const Bytes& pixels,
              const Bytes* colours) {
  std::filesystem::create_directories(path.parent_path());
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0,
                              colours != nullptr ? colours->data() : nullptr) == 0)
    throw std::runtime_error(image.message);
}

png_image image_header(int height, int width, png_uint_32 format) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  return image;
}

} // namespace

void write_png(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
               int channels) {
  constexpr png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                     PNG_FORMAT_RGBA};
  auto image = image_header(height, width, formats[channels - 1]);
  save_png(path, image, pixels, nullptr);
}

void write_palette_png(const std::filesystem::path& path, const Bytes& indices, int height,
                       int width) {
  auto image = image_header(height, width, PNG_FORMAT_RGB | PNG_FORMAT_FLAG_COLORMAP);
  image.colormap_entries = 256;
  Bytes colours;
  for (int i = 0; i < 256; ++i)
    for (const int value : {i, 255 - i, 7})
      colours.push_back(static_cast<std::uint8_t>(value));
  save_png(path, image, indices, &colours);
}

void write_jpeg(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
                int channels, bool progressive) {
  std::filesystem::create_directories(path.parent_path());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    throw std::runtime_error("cannot write " + path.string());
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  info.write_Adobe_marker = channels == 4 ? TRUE : FALSE;
  for (int c = 0; c < info.num_components; ++c)
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  if (progressive)
    jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const auto row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data() + info.next_scanline * row_bytes);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
}

namespace {

Bytes webp_file(const Bytes& pixels, int height, int width, int channels, WebpKind kind) {
  WebPConfig config;
  WebPPicture picture;
  WebPMemoryWriter writer;
  if (WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0)
    throw std::runtime_error("libwebp of another version");
  WebPMemoryWriterInit(&writer);
  config.quality = 100;
  config.lossless = kind == WebpKind::lossless ? 1 : 0;
  config.exact = 1; // keeps pixels that alpha hides
  picture.use_argb = config.lossless;
  picture.width = width;
  picture.height = height;
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const auto import = channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
  if (import(&picture, pixels.data(), width * channels) == 0 || WebPEncode(&config, &picture) == 0)
    throw std::runtime_error("cannot write WebP");
  Bytes file(writer.mem, writer.mem + writer.size);
  WebPPictureFree(&picture);
  WebPMemoryWriterClear(&writer);
  return file;
}

void append_number(Bytes& to, std::size_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void append_chunk(Bytes& to, std::string_view name, const Bytes& content) {
  to.insert(to.end(), name.begin(), name.end());
  append_number(to, content.size(), 4);
  to.insert(to.end(), content.begin(), content.end());
  to.resize(to.size() + content.size() % 2);
}

} // namespace

void write_webp(const std::filesystem::path& path, const Bytes& pixels, int height, int width,
                int channels, WebpKind kind) {
  write_bytes(path, webp_file(pixels, height, width, channels, kind));
}

void write_animated_webp(const std::filesystem::path& path, const Bytes& pixels, int height,
                         int width) {
  const auto still = webp_file(pixels, height, width, 3, WebpKind::lossless);
  Bytes features = {0x02, 0, 0, 0}; // flag for an animation
  append_number(features, 20 - 1, 3);
  append_number(features, 16 - 1, 3);
  Bytes frame;
  append_number(frame, 4 / 2, 3); // in units of two pixels
  append_number(frame, 2 / 2, 3);
  append_number(frame, static_cast<std::size_t>(width) - 1, 3);
  append_number(frame, static_cast<std::size_t>(height) - 1, 3);
  append_number(frame, 100, 3); // milliseconds
  frame.push_back(0);
  frame.insert(frame.end(), still.begin() + 12, still.end()); // after RIFF, its size, WEBP
  Bytes content = {'W', 'E', 'B', 'P'};
  append_chunk(content, "VP8X", features);
  append_chunk(content, "ANIM", Bytes(6));
  append_chunk(content, "ANMF", frame);
  Bytes file;
  append_chunk(file, "RIFF", content);
  write_bytes(path, file);
}

} // namespace troupe::testing
