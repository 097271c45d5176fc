/// One opener for each kind of image data set; open_images chooses by data.dataset.
#pragma once

#include "data/image_dataset.hpp"

#include <filesystem>

namespace troupe::data {

/// Opens CIFAR-10, "binary version" (Krizhevsky 2009): records of a label byte and 32 x 32 pixels
/// in red, green and blue planes. Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin in
/// `root` or its folder cifar-10-batches-bin. Errors: Errc::data for a missing file, a file without
/// exactly `records_per_file` records, or a label above 9.
Result<std::shared_ptr<ImageDataset>> open_cifar10(const std::filesystem::path& root, Split split,
                                                   std::int64_t records_per_file = 10000);

enum class IdxFlavour : std::uint8_t { mnist, fashion_mnist };

/// Opens MNIST or Fashion-MNIST in LeCun's IDX format:
/// {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz. Errors: Errc::data for a
/// missing file, a wrong magic number, a length that differs from the header, unequal counts of
/// images and labels, or a label above 9.
Result<std::shared_ptr<ImageDataset>> open_idx(const std::filesystem::path& root, Split split,
                                               IdxFlavour flavour);

/// Opens `root`/train/CLASS/*.{jpg,jpeg,png,webp} and `root`/{val,test}/CLASS/..., including deeper
/// folders. Labels are positions in the sorted class names of train, as in torchvision's
/// ImageFolder. Images are read on use, with 3 channels, or with 1 (grey, ITU-R 601-2). Errors:
/// Errc::data for a missing folder, a class without images, or a class that train lacks.
Result<std::shared_ptr<ImageDataset>> open_image_folder(const std::filesystem::path& root,
                                                        Split split, int channels = 3);

struct SyntheticOptions {
  std::int64_t samples = 1024; ///< samples of this split
  std::int64_t classes = 10;
  int image_size = 32;
  int channels = 3;
};

/// Opens a data set of generated images. Each is the sum of a coarse random pattern that depends on
/// the label and noise that depends on the sample. The label of sample i is i modulo the number of
/// classes.
Result<std::shared_ptr<ImageDataset>> open_synthetic(const SyntheticOptions& options, Split split);

} // namespace troupe::data
