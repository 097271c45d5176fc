#include "core/config/detail/keys.hpp"

#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

std::string custom_help(const DataConfig& c) {
  std::string help;
  for (const auto& row : c.custom_sets.rows())
    if (!row.help.empty())
      help += fmt::format("; {}: {}", row.traits.name, row.help);
  return help;
}

FormsTarget table_forms(TableConfig& c) {
  return word_or_mapping(
      "null", c,
      {bound_key("features", c.features, "names of the input columns"),
       bound_key("targets", c.targets,
                 "names of the columns to predict: as many numbers as model.num_classes "
                 "with mean_squared_error, one class (a word, or 0 to num_classes - 1) "
                 "with cross_entropy"),
       bound_key("standardize", c.standardize,
                 "from each feature, subtract the mean of the training rows, and divide "
                 "by their standard deviation; default true"),
       bound_key("delimiter", c.delimiter, "character between the cells of a row; default comma")});
}

FormsTarget validation_forms(ValidationConfig& c) {
  const auto has_no_path = [](const ValidationConfig& validation) {
    return validation.path.empty();
  };
  return {&c,
          {fields_form(c, {}, {bound_key("", c.share, fraction())}, has_no_path),
           fields_form(c, {}, {bound_key("", c.path, a_path())})}};
}

FormsTarget normalize_forms(NormalizeConfig& c) {
  const ConfigRule mean = {.min = 0, .max = 1}, deviation = {.min = 0, .max = 1, .above_min = true};
  return word_or_mapping("null", c,
                         {bound_key("mean", c.mean, mean, "subtracted from pixels / 255"),
                          bound_key("std", c.deviation, deviation, "divides the difference")});
}

void add_text(KeyList& keys, DataConfig& c) {
  auto& tokenizer = c.tokenizer;
  keys.add("data.tokenizer", tokenizer.path, a_path(),
           "text: bytes (one token per byte, and one for the end of a document), or a path: "
           "Hugging Face's tokenizer.json, GPT-2's vocab.json (with merges.txt in the same "
           "folder), a folder with either, or a .tiktoken file");
  keys.add_field("path", "split", tokenizer, &TokenizerConfig::split,
                 "how a text is split into words if the files do not define it: .tiktoken files, "
                 "and vocab.json (auto: gpt2)");
  keys.add_field("path", "cache", tokenizer, &TokenizerConfig::cache,
                 "folder of the token cache; not set: ROOT.tokens next to data.root. The cache is "
                 "rebuilt when the texts or the tokenizer change",
                 a_path());
  keys.add("data.text_key", c.text_key,
           "text: key of the document in the object of each line, for files that end in .jsonl or "
           ".ndjson");
  keys.add("data.sequence_length", c.sequence_length, count_to(1 << 24),
           "text: tokens per sample; batch_size counts samples");
  keys.add("data.validation", validation_forms(c.validation),
           "text: share of the samples, from the end, that is used for evaluation and not for "
           "training; or another file or folder to evaluate on");
}

} // namespace

void add_data_keys(KeyList& keys, DataConfig& c) {
  keys.add(
      "data.dataset", c.dataset, one_of(data_set_names(c)),
      "Data set; tools/fetch-data downloads cifar10, mnist and fashion-mnist, and the texts kjv "
      "and docs; csv: a table, in train.csv and test.csv; text: text files and folders of them" +
          custom_help(c));
  keys.add("data.root", c.root, a_path(),
           "Folder of the files, required unless synthetic; for text also a single file");
  keys.add("data.image_size", c.image_size, between(1, 4096),
           "Height and width of images after resizing or cropping");
  keys.add_field("size", "eval_resize", c, &DataConfig::eval_resize,
                 "length of the shorter side to which a test image is resized, with antialiasing, "
                 "before the centre crop; not set: with resized_crop 8/7 of size (256 for 224), "
                 "else size, without antialiasing",
                 between(1, 8192));
  keys.add("data.batch_size", c.batch_size, count_to(1000000),
           "Samples per step, over all workers and micro-batches");
  keys.add("data.eval_batch_size", c.eval_batch_size, count_to(1000000),
           "Samples per evaluation batch and worker");
  keys.add("data.augment", c.augment,
           "Random changes to training images. crop: shift by up to an eighth; resized_crop: crop "
           "and resize, like torchvision's RandomResizedCrop; flip: mirror");
  keys.add("data.normalize", normalize_forms(c.normalize),
           "Normalization of pixels, with one number per channel; null: the data set's values, "
           "ImageNet's for image_folder");
  keys.add("data.shuffle", c.shuffle,
           "Shuffle the training samples in each epoch; false: use the order of the files");
  keys.add("data.drop_last", c.drop_last,
           "Skip the incomplete last batch of an epoch; false: fill it up with the epoch's first "
           "samples");
  keys.add("data.prefetch", c.prefetch, between(1, 1024), "Prefetched batches per worker");
  keys.add(
      "data.slices", c.slices, count_to(1000000),
      "Number of slices into which a global batch is divided. Results depend on the slices and not "
      "on the number of workers that share them; not set: one for each worker and micro-batch");
  keys.add(
      "data.balance", c.balance,
      "How slices are assigned to workers. even: the same number to each; speed: more to faster "
      "workers, so that all finish at the same time; measured after 8 steps and then every 64");
  keys.add("data.replay_assignment", c.replay_assignment, a_path(),
           "events.jsonl of another run, whose assignment of slices is repeated step by step, so "
           "that the results have the same bits");
  keys.add("data.loader_threads", c.loader_threads, between(1, 1024),
           "Threads that decode and augment, per node");
  keys.add("data.residency", c.residency,
           "Memory that holds the pixels of a CUDA worker; auto: the device's if they fit");
  keys.add(
      "data.skip_unreadable", c.skip_unreadable,
      "Skip unreadable files of an image folder instead of ending the run: training uses the next "
      "file, evaluation does not count the file. troupe data check finds such files in advance");
  keys.add("data.limit", c.limit, at_least(1),
           "Train on only N samples: for images spread evenly over the classes, for other data the "
           "first N. Number of samples of the synthetic data set; null: 1024");
  keys.add_field("train", "eval", c, &DataConfig::eval_limit,
                 "evaluate on only N test samples, evenly spaced over the test set", at_least(1));
  keys.add("data.table", table_forms(c.table), "csv: the columns");
  add_text(keys, c);
  keys.append(custom_data_keys(c));
}

} // namespace troupe
