#!/bin/bash
# gpu-parts.sh FOLDER: fills it with what `make gpu-check` needs of Debian, for a machine with a card but without packages.
# It is a prefix for CMake: headers, libraries for x86-64, their CMake packages; and a picture for the example.
set -euo pipefail

folder=${1:?the folder to fill}
packages=(libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
          libbenchmark1debian libstb-dev)

rm -rf "$folder"
mkdir -p "$folder"
dpkg -L "${packages[@]}" | sort -u | while read -r path; do
    [[ -f $path ]] || continue
    case $path in
        /usr/include/stb/stb_image*) ;;
        /usr/include/stb/* | */libstb.* | *.pc) continue ;;
        /usr/include/* | /usr/lib/* | /usr/share/cmake/*) ;;
        *) continue ;;
    esac
    # No links: copies travel everywhere.
    install -D -m 644 "$path" "$folder/${path#/usr/}"
done
cp "$(dpkg -L python-matplotlib-data | grep '/grace_hopper.jpg$')" "$folder/picture.jpg"
echo "$folder: $(du -sh "$folder" | cut -f1)"
