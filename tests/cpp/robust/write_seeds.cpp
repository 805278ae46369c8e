// SPDX-License-Identifier: BSD-3-Clause
// robust/write_seeds.cpp: writes the seed documents into a folder, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "robust/seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "write_seeds FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  int number = 0;
  for (const std::string& text : tta::robust::small_seeds()) {
    const std::string path = std::string(argv[1]) + "/seed" + std::to_string(number++);
    std::ofstream(path, std::ios::binary) << text;
    std::ofstream(path + ".gz", std::ios::binary) << tta::robust::gzip(text);
  }
}
