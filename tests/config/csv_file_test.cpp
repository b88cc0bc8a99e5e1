#include "config/csv_file.hpp"

#include <gtest/gtest.h>

#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using test::TempDir;

TEST(CsvFile, PointsComeThrough) {
  const TempDir dir;
  const auto points = load_points(dir.write("a.csv",
                                            "\xef\xbb\xbf"
                                            "0,0,0\r\n\n 1.5 , +2,-3e-1\n4,5,6"));
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 3u);
  EXPECT_EQ((*points)[1], (Vec3{1.5, 2, -0.3}));
}

TEST(CsvFile, EveryMistakeHasItsLine) {
  const TempDir dir;
  const std::vector<std::pair<const char*, const char*>> cases{
      {"0,0,0\n1,2\n", ":2: the row has 2 cells, must be 3 (x,y,z): mend this row"},
      {"0,0,0\n1,2,3,4\n", ":2: the row has 4 cells, must be 3"},
      {"x,y,z\n0,0,0\n", ":1: key 'x' is 'x', must be a finite number: mend this cell"},
      {"0,0,0\n\n1,nan,2\n", ":3: key 'y' is 'nan', must be a finite number"},
      {"0,0,0\n1,2,inf\n", ":2: key 'z' is 'inf'"},
      {"0,0,0\n1,2,1e999\n", ":2: key 'z' is '1e999'"},
      {"0,0,0\n1,2,3mm\n", ":2: key 'z' is '3mm'"},
      {"0,0,0\n1,,3\n", ":2: key 'y' is ''"},
      {"0,0,0\n1;2;3\n", ":2: the row has 1 cells"},
      {"0,0,0\n1,2,1e7\n", ":2: a coordinate is beyond 1e6 mm"},
      {"0,0,0\n", ":1: one point, must be two or more"},
      {"", ":1: the file has no rows"},
      {"\n \n", ":1: the file has no rows"},
  };
  for (const auto& [text, says] : cases) {
    const auto points = load_points(dir.write("a.csv", text));
    ASSERT_FALSE(points) << text;
    EXPECT_EQ(points.error().kind, Error::Kind::usage);
    EXPECT_NE(points.error().message.find(says), std::string::npos) << points.error().message << "\nfor " << text;
    EXPECT_EQ(points.error().message.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(load_points(dir / "none.csv"));
  EXPECT_FALSE(load_points(dir.path()));
}

TEST(CsvFile, AHeaderIsReadWhereItBelongs) {
  const TempDir dir;
  const auto good = read_numbers(dir.write("a.csv", "t_s, v\n0,1\n2,3\n"), "t_s,v", true);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->rows(), 2u);
  EXPECT_EQ(good->at(1, 1), 3.0);
  EXPECT_EQ(good->lines[1], 3);
  const auto bad = read_numbers(dir.write("a.csv", "0,1\n"), "t_s,v", true);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("the header is '0,1', must be 't_s,v'"), std::string::npos);
}

}  // namespace
}  // namespace ligature::config
