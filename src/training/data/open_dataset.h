#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/json.h"
#include "glassformer/training/image_data.h"
#include "glassformer/training/table_data.h"
#include "glassformer/training/task.h"
#include "glassformer/training/text_data.h"

namespace glassformer {

// What a data set must fit: the task and the model.
struct DataContext {
  Task task = Task::kCausalLm;
  std::filesystem::path folder = {};            // where relative paths start
  const Tokenizer* tokenizer = nullptr;         // of texts, and of sources
  const Tokenizer* target_tokenizer = nullptr;  // of targets; null: the same
  int64_t pad_id = 0, decoder_start_id = 0;
  std::optional<int64_t> mask_id = {}, end_id = {};
  int64_t max_length = 0;  // tokens, unless the configuration says another; 0 is no limit
  LabelOptions labels = {};
  LabelledImagesOptions images = {};  // without augmentation, which the configuration says
  TableScale scale = {};              // of the training data, when it is opened for validation
};

// Opens what an object of a configuration describes:
//
//   format        task                       fields
//   text          language models            files, block, stride, end_of_text; or with lines:
//                                            true: files, max_length, end_of_text
//   jsonl tsv csv language models            files, text, max_length, end_of_text
//                 translation                files, source, target, max_length, skip_long
//                 sequence classification    files, text, pair, label, max_length
//                 embedding                  files, anchor, positive, max_length
//   jsonl         token classification       files, words, labels, max_length
//   tsv csv       table                      files, target, standardise
//   parallel      translation                source, target (files), max_length, skip_long
//   idx           images                     images, labels (files), mean, std, flip, crop, erase
//   image_folder  images                     folder, mean, std, flip, crop, erase
//
// tsv and csv also take `header`, masked language models `mask_probability`. A file is a path or a
// list of them; a column its name or number. Throws FileError for a field that is missing, unknown
// or malformed and whatever opening the data set throws; ValueError where the context lacks what
// the task needs.
std::unique_ptr<Dataset> open_dataset(const JsonFields& fields, const DataContext& context);

}  // namespace glassformer
